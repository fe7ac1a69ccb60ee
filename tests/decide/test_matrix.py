"""Many kinds of GPU judged at once are judged as each would be alone."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws import strategies
from torchpick.decide import matrix, resolve
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.build import Reason, Verdict
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import Table

LINUX = Platform.parse("linux-x86_64")


@pytest.fixture(scope="module")
def table() -> Table:
    return compat.Knowledge(os.environ).table(["linux-x86_64", "linux-aarch64"])


def seen(verdict: Verdict) -> tuple[object, ...]:
    return verdict.build.version, [each.to_dict() for each in verdict.objections], verdict.fits, verdict.rank


@given(strategies.tables(), st.lists(strategies.devices, min_size=1, max_size=4), strategies.driver_versions)
def test_a_gpu_in_a_crowd_is_judged_as_if_it_were_alone(table: Table, devices: list[Arch], driver: str) -> None:
    gpus = tuple(Gpu(place, "nvidia", None, arch) for place, arch in enumerate(devices))
    machine = Machine(LINUX, Python("3.12"), Driver(driver), gpus)

    crowd = matrix.verdicts(machine, table, Wish())

    for gpu in gpus:
        alone = resolve.judge(machine._replace(gpus=(gpu,)), table, Wish())
        mine = [each for each in alone if Reason.BACKEND_NOT_ALLOWED not in each.reasons]
        assert [seen(each) for each in crowd[gpu.index]] == [seen(each) for each in mine]


def test_the_row_of_a_pascal_card_ends_at_2_14_1(table: Table) -> None:
    (row,) = [row for row in all_rows(table) if str(row.gpu.arch) == "sm_61"]

    assert row.driver is not None
    assert row.driver.version == "580"
    assert row.newest is not None
    assert row.newest.build.version == "2.14.1+cu126"
    assert row.cells[0].torch == "2.15.0"
    assert row.cells[0].best is None


def all_rows(table: Table, driver: Driver | None = None) -> tuple[matrix.Row, ...]:
    return matrix.rows(Machine(LINUX, Python("3.12"), driver, matrix.gpus_of(table.nvidia)), table, Wish())


def test_every_gpu_gets_the_newest_driver_that_serves_it_unless_one_is_told(table: Table) -> None:
    assumed = {str(row.gpu.arch): row.driver for row in all_rows(table)}
    told = {row.driver for row in all_rows(table, Driver("535.183.01"))}

    assert {arch: driver.version for arch, driver in assumed.items() if driver} == {
        **{f"sm_{digits}": "470" for digits in (35, 37)},
        **{f"sm_{digits}": "580" for digits in (50, 52, 53, 60, 61, 62, 70, 72)},
        **{f"sm_{digits}": "615" for digits in (75, 80, 86, 87, 89, 90, 100, 103, 107, 110, 120, 121)},
    }
    assert told == {Driver("535.183.01")}


def test_rows_come_in_the_order_of_the_gpus(table: Table) -> None:
    assert [row.gpu.index for row in all_rows(table)] == list(range(len(table.nvidia)))


def test_an_amd_gpu_needs_no_driver_and_gets_its_own_backends(table: Table) -> None:
    amd = Gpu(1, "amd", None, Arch.parse("gfx942"))
    (row,) = matrix.rows(Machine(LINUX, Python("3.12"), None, (amd,)), table, Wish())

    assert row.driver is None
    assert row.newest is not None
    assert row.newest.build.family == "rocm"


def test_a_release_that_was_not_asked_for_has_no_cell(table: Table) -> None:
    machine = Machine(LINUX, Python("3.12"), None, matrix.gpus_of(table.nvidia))
    rows = matrix.rows(machine, table, Wish(torch=">=2.5,<2.8"))

    assert set(matrix.releases_of(rows)) == {"2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1"}
    assert matrix.newest_patches(matrix.releases_of(rows)) == ("2.7.1", "2.6.0", "2.5.1")


def test_the_newest_patch_of_a_minor_release_stands_for_it() -> None:
    releases = ("2.10.1", "2.10.0", "2.6.0", "2.5.1", "2.5.0")

    assert matrix.newest_patches(releases) == ("2.10.1", "2.6.0", "2.5.1")
