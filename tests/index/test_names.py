"""What file names tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.index import wheelnames
from torchpick.model.machine import Platform

CASES = json.loads(Path(__file__).with_name("names.json").read_text("utf-8"))


@pytest.mark.parametrize(("tag", "platform", "glibc"), CASES["a_tags_platform"])
def test_a_tags_platform(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)


@pytest.mark.parametrize(("tag", "python", "platform", "suits"), CASES["a_wheel_is_for_a_python_and_a_platform"])
def test_a_wheel_is_for_a_python_and_a_platform(tag: str, python: str, platform: str, suits: bool) -> None:
    wheel, here = wheelnames.parse(f"pkg-1.0-{tag}.whl"), Platform.parse(platform)._replace(glibc="2.35")
    assert wheel is not None
    assert (wheelnames.rank(wheel, python, here) is not None) is suits
    if platform == "linux-x86_64" and "linux_" in tag:
        musl = wheelnames.rank(wheel, python, here._replace(libc="musl", glibc=None))
        assert (musl is not None) is ("musllinux" in tag or tag.startswith("cp37"))


def test_the_files_that_may_hold_gpu_code_and_those_that_compile_it() -> None:
    code = ["a/b.so", "b.so.1.2", "c.dll", "d.PYD", "e.cubin", "f.fatbin"]
    other = [
        "a.py",
        "so",
        "a.so.py",
        "b.sox",
        "c.a",
        "d.ptx",
        "nvcc",
        "ptxas.py",
        "my_ptxas",
        "nvrtc.txt",
        "nvvm.py",
        "_libnvrtcx",
    ]
    tools = [
        "t/bin/ptxas", "ptxas.exe", "libnvrtc.so.12", "l/nvrtc64_120_0.dll", "cupy/_nvrtc.pyd", "nvrtc.py",
        "cuda/nvrtc.pyx", "nvvm/libnvvm.so.4", "nvvm64_40_0.dll",
    ]  # fmt: skip
    assert [name for name in (*code, *other) if wheelnames.may_hold_code(name)] == code
    assert [name for name in (*code, *other, *tools) if wheelnames.compilers([name])] == tools
    assert wheelnames.compilers(tools[::-1]) == tuple(sorted(tools))[:8]
