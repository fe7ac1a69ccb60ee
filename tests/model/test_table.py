"""NVIDIA's driver tables as questions, on the table that ships."""

from __future__ import annotations

from itertools import product

import pytest

from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver

DRIVERS = compat.Knowledge({}).rules.drivers


@pytest.mark.parametrize(("version", "cuda", "os", "expected"), [
        ("440.33", "10.2", "linux", True),  # before CUDA 11 the toolkit's own driver
        ("418.39", "10.2", "linux", False),
        ("450.80.02", "11.8", "linux", True),  # after it, the major's floor
        ("450.80.01", "11.8", "linux", False),
        ("450.51.05", "11.0", "linux", True),  # or the toolkit's own row, where that is lower
        ("525.60.13", "12.9", "linux", True), ("525.60.12", "12.9", "linux", False), ("579.99", "13.0", "linux", False),
        ("580", "13.2", "linux", True), ("580", "13.2", "windows", True), ("582.66", "13.2", "windows", True),
        ("577.03", "13.0", "windows", False),
        ("525", "12.9", "linux", True),  # a branch alone is its newest driver
        ("527", "12.6", "windows", True),
        ("526", "12.6", "windows", False),  # and another number alone the newest that begins with it
        ("450", "11.8", "linux", True), ("450", "11.8", "windows", True), ("475.14", "11.8", "windows", True),
        ("527.41", "12.6", "windows", True), ("527.40", "12.6", "windows", False), ("452.39", "11.8", "windows", True),
])  # fmt: skip
def test_which_driver_carries_which_cuda(version: str, cuda: str, os: str, expected: bool) -> None:
    assert DRIVERS.supports_cuda(Driver(version), cuda, os) is expected


def test_a_cuda_alone_carries_its_major_from_11_on() -> None:
    pairs = (("10.1", "10.2"), ("11.0", "11.8"), ("11.8", "12.0"))
    assert [DRIVERS.supports_cuda(Driver(None, cuda), newer, "linux") for cuda, newer in pairs] == [False, True, False]


def test_drivers_that_stand_alike_are_judged_alike() -> None:
    """At each number that stands somewhere, right below it, and above it, on each system."""
    rows = (*DRIVERS.toolkits.values(), *DRIVERS.majors.values(), *DRIVERS.first_driver.values())
    floors = {floor for row in rows for floor in row.values()} | {str(number) for number in DRIVERS.branches}
    firsts = [(int(number), tuple(rest)) for number, *rest in (floor.split(".") for floor in floors)]
    versions = {f"{number}{end}" for number, _ in firsts for end in ("", ".0", ".999")} | floors
    versions |= {f"{number}.{int(rest[0]) - 1}" for number, rest in firsts if rest and int(rest[0])}
    drivers = [Driver(version) for version in sorted(versions)] + [Driver(None, cuda) for cuda in DRIVERS.toolkits]
    gpus = [Arch.of_capability(*capability) for capability in (*DRIVERS.first_driver, *DRIVERS.last_branch)]
    alike: dict[object, list[object]] = {}
    for driver, os in product(drivers, ("linux", "windows")):
        carried = [DRIVERS.supports_cuda(driver, cuda, os) for cuda in (*DRIVERS.toolkits, "14.0")]
        served = [not DRIVERS.unsupported(driver, gpu, os) for gpu in gpus]
        unified = driver.version is not None and DRIVERS.at_least(driver.version, str(DRIVERS.unified_tegra), os)
        alike.setdefault(DRIVERS.standing(driver, os), []).append([carried, served, unified, DRIVERS.speaks(driver)])

    assert all(judged == seen[0] for seen in alike.values() for judged in seen)
    assert len(alike) < 2 * len(drivers)
