"""What file names tell."""

from __future__ import annotations

import pytest

from torchpick.index import wheelnames
from torchpick.model.machine import Platform


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


@pytest.mark.parametrize(("tag", "python", "platform", "suits"), [
    ("cp312-cp312-manylinux2014_aarch64", "cp312", "linux-aarch64", True),
    ("cp312-cp312-manylinux2010_aarch64", "cp312", "linux-aarch64", False),
    ("cp312-cp312-manylinux1_x86_64", "cp312", "linux-x86_64", True),
    ("cp312-cp312-manylinux_2_35_x86_64", "cp312", "linux-x86_64", True),
    ("cp312-cp312-manylinux_2_36_x86_64", "cp312", "linux-x86_64", False),
    ("cp312-cp312-manylinux_2_5_x86_64", "cp312", "linux-x86_64", True),
    ("cp312-cp312-musllinux_1_2_x86_64", "cp312", "linux-x86_64", False),
    ("cp314-cp314t-win_arm64", "cp314t", "windows-arm64", True), ("py3-none-any", "cp314t", "windows-arm64", True),
    ("cp314-none-any", "cp314t", "linux-x86_64", True),
    ("cp314-cp314-win_arm64", "cp314t", "windows-arm64", False),
    ("cp312-cp312-win_amd64", "cp312", "windows-arm64", False),
    ("cp312-cp312-macosx_11_0_arm64", "cp312", "macos-arm64", True),
    ("cp312-cp312-macosx_11_0_universal2", "cp312", "macos-x86_64", True),
    ("cp37-cp37m-linux_x86_64", "cp37", "linux-x86_64", True),
    ("cp38-cp38m-linux_x86_64", "cp38", "linux-x86_64", False),
])  # fmt: skip
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
