"""What a given driver stands for, and whose word counts about a GPU."""

from __future__ import annotations

import pytest

from torchpick.decide import buildfit
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.build import Reason
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish

RULES = compat.Knowledge({}).rules


def machine(version: str | None, os: str = "linux", source: str = "given", arch: str = "sm_86") -> Machine:
    driver = None if version is None else Driver(version, source=source)
    gpu = Gpu(0, "nvidia", None, Arch.parse(arch), source=source)
    return Machine(Platform(os, "x86_64"), Python("3.12"), driver, (gpu,))


@pytest.mark.parametrize(
    ("version", "os", "code"),
    [
        ("535", "linux", "DRIVER_BRANCH"),
        ("535", "windows", "DRIVER_BRANCH"),
        ("582.66", "linux", None),
        ("616.92", "linux", None),
        ("580.95.05", "windows", None),
        ("490.12", "linux", "DRIVER_NUMBER"),
        ("700.1", "linux", "DRIVER_NUMBER"),
        ("580.95.05", "linux", None),
        ("565.72", "linux", None),
        ("582.66", "windows", None),
        ("580.88", "windows", None),
        ("582.66.01", "windows", None),
        ("580.88", "linux", None),
        ("440.33", "linux", None),
    ],
)
def test_a_given_number_is_read_for_what_it_is(version: str, os: str, code: str | None) -> None:
    found = buildfit.complete_driver(machine(version, os), RULES.drivers)

    assert [note.code for note in found.notes] == ([] if code is None else [code])
    assert found.driver is not None
    assert found.driver.version == version


@pytest.mark.parametrize(("source", "refused"), [("nvml", False), ("cuda", False), ("given", True), ("pci", True)])
def test_a_gpu_that_the_driver_lists_is_supported_whatever_the_table_says(source: str, refused: bool) -> None:
    table = compat.Knowledge({}).table(("linux-x86_64",))
    listed = machine("595.58.03", source=source, arch="sm_61")
    verdicts = list(buildfit.judge(listed, table, Wish(torch="==2.14.1", backends=("cu126",))))

    mine = next(each for each in verdicts if each.build.version == "2.14.1+cu126")
    assert (Reason.GPU_NOT_SERVED_BY_DRIVER in mine.reasons) is refused
