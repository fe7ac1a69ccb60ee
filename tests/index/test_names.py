"""What file names tell."""

from __future__ import annotations

import pytest

from torchpick.index import wheelnames


@pytest.mark.parametrize(("tag", "platform", "glibc"), [
    ("manylinux_2_28_aarch64", "linux-aarch64", "2.28"), ("manylinux1_x86_64", "linux-x86_64", "2.5"),
    ("linux_x86_64", "linux-x86_64", None), ("win_amd64", "windows-x86_64", None), ("win_arm64", "windows-arm64", None),
    ("macosx_11_0_arm64", "macos-arm64", None), ("macosx_10_9_x86_64", "macos-x86_64", None), ("any", None, None),
    ("musllinux_1_2_x86_64", None, None), ("linux_armv7l", None, None), ("manylinux2014_s390x", "linux-s390x", "2.17"),
    ("manylinux2010_x86_64", "linux-x86_64", "2.12"), ("macosx_11_0_universal2", None, None),
    ("manylinux_2_17_x86_64.manylinux2014_x86_64", "linux-x86_64", "2.17"),
    ("manylinux_2_28_aarch64.manylinux_2_24_aarch64", "linux-aarch64", "2.24"),
])  # fmt: skip
def test_a_tags_platform(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)


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
