"""NVIDIA's driver tables as questions, on the table that ships."""

from __future__ import annotations

import pytest

from torchpick import shipped
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver

DRIVERS = shipped.rules({}).drivers


@pytest.mark.parametrize(
    ("version", "cuda", "os", "expected"),
    [
        ("440.33", "10.2", "linux", True),  # before CUDA 11 the toolkit's own driver
        ("418.39", "10.2", "linux", False),
        ("450.80.02", "11.8", "linux", True),  # after it, the major's floor
        ("450.80.01", "11.8", "linux", False),
        ("450.51.05", "11.0", "linux", True),  # or the toolkit's own row, where that is lower
        ("525.60.13", "12.9", "linux", True),
        ("525.60.12", "12.9", "linux", False),
        ("579.99", "13.0", "linux", False),
        ("580", "13.2", "linux", True),
        ("580", "13.2", "windows", True),
        ("527.41", "12.6", "windows", True),
        ("527.40", "12.6", "windows", False),
        ("452.39", "11.8", "windows", True),
    ],
)
def test_which_driver_carries_which_cuda(version: str, cuda: str, os: str, expected: bool) -> None:
    assert DRIVERS.carries(Driver(version), cuda, os) is expected


@pytest.mark.parametrize(
    ("spoken", "cuda", "expected"),
    [
        ("12.0", "12.9", True),
        ("11.4", "11.8", True),
        ("12.8", "13.0", False),
        ("13.0", "11.8", True),
        ("10.1", "10.2", False),
    ],
)
def test_a_cuda_version_alone_carries_its_major_and_all_before(spoken: str, cuda: str, expected: bool) -> None:
    assert DRIVERS.carries(Driver(None, spoken), cuda, "linux") is expected


@pytest.mark.parametrize(
    ("version", "cuda"),
    [("580.95.05", "13.0"), ("570.124.06", "12.8"), ("565.10", "12.7"), ("470.256.02", "11.4"), ("700.1", "13.4")],
)
def test_the_cuda_a_driver_speaks_itself(version: str, cuda: str) -> None:
    assert DRIVERS.speaks(Driver(version)) == cuda


@pytest.mark.parametrize(
    ("version", "gpu", "served"),
    [
        ("470.256.02", "sm_37", True),
        ("525.60.13", "sm_37", False),
        ("580.119.02", "sm_61", True),
        ("590.48.01", "sm_61", False),
        ("595.58.03", "sm_70", False),
        ("595.58.03", "sm_75", True),
        ("570.25", "sm_120", False),
        ("570", "sm_120", True),
        ("570.26", "sm_121", True),
    ],
)
def test_which_driver_serves_which_gpu(version: str, gpu: str, served: bool) -> None:
    assert (DRIVERS.refusal(Driver(version), Arch.parse(gpu), "linux") is None) is served


@pytest.mark.parametrize(
    ("cuda", "gpu", "served"),
    [("13.0", "sm_61", True), ("13.1", "sm_61", False), ("12.6", "sm_120", False), ("12.8", "sm_120", True)],
)
def test_a_cuda_version_alone_says_which_gpu_is_served(cuda: str, gpu: str, served: bool) -> None:
    assert (DRIVERS.refusal(Driver(None, cuda), Arch.parse(gpu), "linux") is None) is served


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (("sm_61",), "580"),
        (("sm_37",), "470"),
        (("sm_61", "sm_37"), "470"),
        (("sm_61", "sm_120"), "580"),
        (("sm_90",), "615"),
    ],
)
def test_the_driver_that_is_assumed(gpus: tuple[str, ...], expected: str) -> None:
    assert DRIVERS.assumed_for(tuple(map(Arch.parse, gpus))) == expected
