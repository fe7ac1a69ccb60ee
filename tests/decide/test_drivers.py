"""What a given driver stands for, and whose word counts about a GPU."""

from __future__ import annotations

import pytest

from torchpick.decide import buildfit
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.build import Reason
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pick import Wish

RULES = compat.Knowledge({}).rules


def machine(version: str | None, os: str = "linux", source: str = "given", arch: str = "sm_86") -> Machine:
    driver = None if version is None else Driver(version, source=source)
    gpu = Gpu(0, "nvidia", None, Arch.parse(arch), source=source)
    return Machine(Platform(os, "x86_64"), Python("3.12"), driver, (gpu,))


@pytest.mark.parametrize(("version", "os", "code"), [
        ("535", "linux", "DRIVER_BRANCH"), ("535", "windows", "DRIVER_BRANCH"), ("582.66", "linux", None),
        ("616.92", "linux", None), ("580.95.05", "windows", None), ("490.12", "linux", "DRIVER_NUMBER"),
        ("700.1", "linux", "DRIVER_NUMBER"), ("580.95.05", "linux", None), ("565.72", "linux", None),
        ("582.66", "windows", None), ("580.88", "windows", None), ("582.66.01", "windows", None),
        ("580.88", "linux", None), ("440.33", "linux", None),
])  # fmt: skip
def test_a_given_number_is_read_for_what_it_is(version: str, os: str, code: str | None) -> None:
    found = buildfit.complete_driver(machine(version, os), RULES.drivers)

    assert [note.code for note in found.notes] == ([] if code is None else [code])
    assert found.driver is not None
    assert found.driver.version == version


@pytest.mark.parametrize(
    ("source", "of_driver", "refused"),
    [
        ("nvml", "nvml", False), ("cuda", "cuda", False), ("nvml", "kernel", False), ("given", "given", True),
        ("pci", "kernel", True), ("nvml", "given", True), ("cuda", "assumed", True),
    ],
)  # fmt: skip
def test_a_gpu_that_the_driver_lists_is_supported_whatever_the_table_says(
    source: str, of_driver: str, refused: bool
) -> None:
    table = compat.Knowledge({}).table(("linux-x86_64",))
    listed = machine("595.58.03", source=source, arch="sm_61")._replace(driver=Driver("595.58.03", source=of_driver))
    verdicts = list(buildfit.judge(listed, table, Wish(torch="==2.14.1", backends=("cu126",))))

    mine = next(each for each in verdicts if each.build.version == "2.14.1+cu126")
    assert (Reason.GPU_NOT_SERVED_BY_DRIVER in mine.reasons) is refused


@pytest.mark.parametrize(("version", "os", "arch", "release", "fits"), [
        ("525.60.13", None, "sm_86", "2.9.1+cu128", True), ("525.60.12", None, "sm_86", "2.9.1+cu128", False),
        # Under WSL2 it is the driver of Windows, whose floors are others.
        ("526.98", "windows", "sm_86", "2.9.1+cu128", False), ("527.41", "windows", "sm_86", "2.9.1+cu128", True),
        ("570.26", None, "sm_120", "2.9.1+cu128", True), ("570.64", "windows", "sm_120", "2.9.1+cu128", False),
        ("570.65", "windows", "sm_120", "2.9.1+cu128", True), ("580", "windows", "sm_61", "2.9.1+cu126", True),
        ("582.66", "windows", "sm_61", "2.9.1+cu126", True), ("590.1", "windows", "sm_61", "2.9.1+cu126", False),
])  # fmt: skip
def test_the_system_whose_driver_it_is_has_the_floors(
    version: str, os: str | None, arch: str, release: str, fits: bool
) -> None:
    table = compat.Knowledge({}).table(("linux-x86_64",))
    where = machine(version, arch=arch)._replace(driver=Driver(version, os=os))

    assert buildfit.pick(where, table, Wish(torch=f"=={release}")).ok is fits


@pytest.mark.parametrize("os", [None, "windows"])
def test_without_a_driver_the_newest_that_serves_the_gpus_is_assumed_and_another_stays_that_of_its_system(
    os: str | None,
) -> None:
    known = Note("KNOWN", "before")
    here = machine(None)._replace(
        gpus=tuple(
            Gpu(place, "nvidia", None, Arch.parse(arch)) for place, arch in enumerate(("sm_90", "sm_37", "sm_61"))
        ),
        notes=(known,),
    )

    found = buildfit.complete_driver(here, RULES.drivers)

    assert found.driver == Driver("470", "11.4", "assumed", "assumed")
    assert [note.code for note in found.notes] == ["KNOWN", "DRIVER_ASSUMED"]
    kept = buildfit.complete_driver(here._replace(driver=Driver("535")), RULES.drivers)
    assert [note.code for note in kept.notes] == ["KNOWN", "DRIVER_BRANCH"]
    newer = buildfit.with_driver(here._replace(driver=Driver("535", os=os)), "580", RULES.drivers)
    assert newer.driver == Driver("580", "13.0", "assumed", "assumed", os)
    for source in ("nvml", "kernel"):  # what was detected is what it is
        detected = here._replace(driver=Driver("535", source=source))
        assert buildfit.complete_driver(detected, RULES.drivers) == detected
    orin = machine("540.4.0", arch="sm_87")
    assert buildfit.complete_driver(orin, RULES.drivers) == orin


@pytest.mark.parametrize(
    ("number", "what"),
    [("490.12", "is not a known driver version; it is treated as part of branch 470"),
     ("583.9", "is not a known driver version; it is treated as part of branch 580"),
     ("700.1", "is newer than any driver in this table; it is treated as part of branch 615")],
)  # fmt: skip
def test_what_an_unknown_number_is_treated_as(number: str, what: str) -> None:
    (note,) = buildfit.complete_driver(machine(number), RULES.drivers).notes

    assert note.text == f"{number} {what}"
