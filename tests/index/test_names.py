"""What file names tell."""

from __future__ import annotations

import pytest

from torchpick.index import wheelnames


def test_a_wheels_name() -> None:
    found = wheelnames.parse("nvidia_NCCL.cu12-2.27.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")

    assert found is not None
    assert (found.project, found.version, found.python, found.abi) == ("nvidia-nccl-cu12", "2.27.5", "py3", "none")
    assert wheelnames.platform_of(found.platform) == "linux-x86_64"
    assert wheelnames.glibc_of(found.platform) == "2.17"


@pytest.mark.parametrize(
    "file", ["", "torch.whl", "torch-2.0-cp312-win_amd64.whl", "torch-2.0-a-b-c.zip", "../t-1-a-b-c.whl"]
)
def test_what_is_no_wheels_name(file: str) -> None:
    assert wheelnames.parse(file) is None


def test_a_build_tag_is_passed() -> None:
    found = wheelnames.parse("x-1.0-2-cp312-cp312-any.whl")
    assert found is not None
    assert (found.version, found.python) == ("1.0", "cp312")


@pytest.mark.parametrize(("tag", "platform", "glibc"), [
    ("manylinux_2_28_aarch64", "linux-aarch64", "2.28"), ("manylinux1_x86_64", "linux-x86_64", "2.5"),
    ("linux_x86_64", "linux-x86_64", None), ("win_amd64", "windows-x86_64", None), ("win_arm64", "windows-arm64", None),
    ("macosx_11_0_arm64", "macos-arm64", None), ("macosx_10_9_x86_64", "macos-x86_64", None), ("any", None, None),
    ("musllinux_1_2_x86_64", None, None), ("linux_armv7l", None, None),
])  # fmt: skip
def test_a_tags_platform(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)


@pytest.mark.parametrize("path", ["a/lib.so", "a/lib.so.12.1", "x.DLL", "x.pyd", "k.cubin", "k.fatbin"])
def test_what_may_hold_code(path: str) -> None:
    assert wheelnames.may_hold_code(path)


@pytest.mark.parametrize("path", ["a.py", "lib.so.txt", "x.lib", "x.a", "so", "x.metal"])
def test_what_may_not(path: str) -> None:
    assert not wheelnames.may_hold_code(path)


def test_compilers_are_told_by_their_files() -> None:
    real = ["triton/backends/nvidia/bin/ptxas", "cupy_backends/cuda/libs/nvrtc.cpython-311-x86_64-linux-gnu.so",
            "numba/cuda/cudadrv/nvrtc.py", "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so"]  # fmt: skip

    assert wheelnames.compilers([*real, "torch/lib/libcaffe2_nvrtc.so", "ptxas.txt", "x/nvrtc_notes.md"]) == tuple(
        sorted(real)
    )
