"""NVIDIA's driver tables as questions, on the table that ships."""

from __future__ import annotations

import pytest

from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver

DRIVERS = compat.Knowledge({}).rules.drivers


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
        ("582.66", "13.2", "windows", True),
        ("577.03", "13.0", "windows", False),
        ("525", "12.9", "linux", True),  # a branch alone is its newest driver
        ("527", "12.6", "windows", True),
        ("526", "12.6", "windows", False),  # and another number alone the newest that begins with it
        ("450", "11.8", "linux", True),
        ("450", "11.8", "windows", True),
        ("475.14", "11.8", "windows", True),
        ("527.41", "12.6", "windows", True),
        ("527.40", "12.6", "windows", False),
        ("452.39", "11.8", "windows", True),
    ],
)
def test_which_driver_carries_which_cuda(version: str, cuda: str, os: str, expected: bool) -> None:
    assert DRIVERS.supports_cuda(Driver(version), cuda, os) is expected


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
    assert DRIVERS.supports_cuda(Driver(None, spoken), cuda, "linux") is expected


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
        ("570.26", "sm_121", False),
        ("575.51.03", "sm_103", True),
        ("470.256.02", "sm_89", False),
        ("525", "sm_90", True),
        ("470.256.02", "sm_90", False),
        ("450.80.02", "sm_80", True),
        ("450.80.02", "sm_86", False),
        ("455.23.04", "sm_86", True),
        ("440.33", "sm_80", False),
        ("440.33", "sm_75", True),
        ("396.26", "sm_75", False),
        ("580.95.05", "sm_110", True),
        ("610.43.02", "sm_107", False),
    ],
)
def test_which_driver_serves_which_gpu(version: str, gpu: str, served: bool) -> None:
    assert (DRIVERS.unsupported(Driver(version), Arch.parse(gpu), "linux") is None) is served


@pytest.mark.parametrize(
    ("cuda", "gpu", "served"),
    [
        ("11.0", "sm_86", False),
        ("11.8", "sm_89", True),
        ("13.0", "sm_61", True),
        ("13.1", "sm_61", False),
        ("12.6", "sm_120", False),
        ("12.8", "sm_120", True),
    ],
)
def test_a_cuda_version_alone_says_which_gpu_is_served(cuda: str, gpu: str, served: bool) -> None:
    assert (DRIVERS.unsupported(Driver(None, cuda), Arch.parse(gpu), "linux") is None) is served


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


# Every Windows number of the last ten years that has a branch: NVIDIA's tables, and what nvidia-smi prints under WSL2.
WINDOWS = {
    450: (451, 452, 453),
    455: (456, 457),
    460: (460, 461, 462, 463),
    465: (465, 466),
    470: (471, 472, 473, 474, 475),
    495: (496, 497),
    510: (511, 512, 513),
    515: (516, 517),
    520: (520, 521, 522),
    525: (526, 527, 528, 529),
    530: (531, 532),
    535: (535, 536, 537, 538, 539),
    545: (545, 546),
    550: (551, 552, 553),
    555: (555, 556),
    560: (560, 561),
    565: (565, 566),
    570: (570, 571, 572, 573),
    575: (576, 577),
    580: (580, 581, 582),
    590: (591, 592),
    595: (595, 596),
    610: (610,),
    615: (616,),
}
CUDA_OF = {
    450: "11.0", 455: "11.1", 460: "11.2", 465: "11.3", 470: "11.4", 495: "11.5", 510: "11.6", 515: "11.7", 520: "11.8",
    525: "12.0", 530: "12.1", 535: "12.2", 545: "12.3", 550: "12.4", 555: "12.5", 560: "12.6", 565: "12.7",
    570: "12.8", 575: "12.9", 580: "13.0", 590: "13.1", 595: "13.2", 610: "13.3", 615: "13.4",
}  # fmt: skip


@pytest.mark.parametrize(("branch", "first"), [(branch, first) for branch, all_ in WINDOWS.items() for first in all_])
def test_a_windows_number_runs_past_its_branch(branch: int, first: int) -> None:
    driver = Driver(f"{first}.50")
    found = DRIVERS.branch_of(f"{first}.50")

    assert found is not None
    assert (found.number, found.last_number("windows") >= first) == (branch, True)
    assert DRIVERS.speaks(driver) == CUDA_OF[branch]
    for gpu, last in (("sm_37", 470), ("sm_52", 580), ("sm_61", 580), ("sm_70", 580)):
        dropped = branch > last
        assert (DRIVERS.dropped_by(driver, Arch.parse(gpu)) == last) is dropped
        assert (DRIVERS.unsupported(driver, Arch.parse(gpu), "windows") is not None) is dropped


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        ("470.223.02", "474.64"),
        ("525.125.05", "529.08"),
        ("535.230.02", "539.19"),
        ("550.127.04", "553.24"),
        ("565.72", "566.14"),
        ("570.170", "573.44"),
        ("570.172.08", "573.48"),
        ("575.65", "577.03"),
        ("580.178.01", "582.78"),
        ("590.62", "592.01"),
        ("595.71.01", "596.36"),
        ("615.71.08", "616.92"),
    ],
)
def test_the_two_numbers_of_one_driver_have_one_branch(linux: str, windows: str) -> None:
    assert DRIVERS.branch_of(linux) == DRIVERS.branch_of(windows)


def test_the_drivers_that_nvidia_names_for_a_toolkit_are_of_one_branch_on_both_systems() -> None:
    for row in DRIVERS.toolkits.values():
        if "linux" in row and "windows" in row:
            assert DRIVERS.branch_of(row["linux"]) == DRIVERS.branch_of(row["windows"])
