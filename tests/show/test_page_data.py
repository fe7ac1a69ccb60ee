"""What the page looks up, added together, is what resolve says."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchpick.cli.show import page_data
from torchpick.decide import resolve
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Reason

NAMES = (("GeForce GTX 1080 Ti", "6.1"), ("GeForce 8800 GTX", "1.0"), ("GeForce 820M", "2.1 3.0"), ("H20", "?"))


@pytest.fixture(scope="module")
def table() -> Table:
    return compat.Knowledge(os.environ).table(page_data.PLATFORMS)


@pytest.fixture(scope="module")
def data(table: Table) -> dict[str, Any]:
    return page_data.data(table, Wish(), NAMES)


def looked_up(data: dict[str, Any], platform: int, driver: int, python: int, gpu: int) -> dict[str, list[str]]:
    """Version → what is said against it, in the order of the page: the sum that page.js makes."""
    sheet = data["platforms"][platform]
    used, row = sheet["drivers"][driver]["rows"][str(gpu)]
    found = {}
    for place in data["rows"][row]:
        cell = data["cells"][place]
        for build, verdict in zip(cell[::2], cell[1::2], strict=True):
            against = [*data["verdicts"][verdict][0], *sheet["objects"][used].get(str(build), [])]
            if str(build) in sheet["pythons"][python]["objects"]:
                against.append(sheet["pythons"][python]["objects"][str(build)])
            torch, backend = sheet["builds"][build][:2]
            found[f"{torch}+{backend}"] = sorted(data["texts"][text] for text in against)
    return found


@settings(max_examples=40)
@given(drawn=st.data())
def test_the_sum_is_what_resolve_says(table: Table, data: dict[str, Any], drawn: st.DataObject) -> None:
    platform = drawn.draw(st.sampled_from(range(3)))
    sheet = data["platforms"][platform]
    driver = drawn.draw(st.sampled_from(range(len(sheet["drivers"]))))
    python = drawn.draw(st.sampled_from(range(len(sheet["pythons"]))))
    gpu = drawn.draw(st.sampled_from(sorted(map(int, sheet["drivers"][driver]["rows"]))))

    found = looked_up(data, platform, driver, python, gpu)

    arch = Arch.parse(data["gpus"][gpu]["arch"])
    version = sheet["pythons"][python]["name"].removeprefix("Python ")
    used = sheet["drivers"][driver]["rows"][str(gpu)][0]
    machine = Machine(
        Platform.parse(sheet["name"]),
        Python(version.removesuffix("t"), free_threaded=version.endswith("t")),
        Driver(used, table.drivers.speaks(Driver(used))) if used else None,
        (Gpu(0, "amd" if arch.kind == "gfx" else "nvidia", None, arch),),
    )
    verdicts = [
        verdict
        for verdict in resolve.judge(machine, table, Wish())
        if Reason.BACKEND_NOT_ALLOWED not in verdict.reasons
    ]
    expected = {
        f"{each.build.torch}+{each.build.backend}": sorted(objection.text for objection in each.objections)
        for each in verdicts
    }
    assert found == expected
    assert list(found) == list(expected)  # and in resolve's order of preference


def test_a_driver_that_is_not_told_is_the_newest_that_serves_the_gpu(data: dict[str, Any]) -> None:
    pascal = next(place for place, gpu in enumerate(data["gpus"]) if gpu["arch"] == "sm_61")

    assert data["platforms"][0]["drivers"][0]["version"] == ""
    assert data["platforms"][0]["drivers"][0]["rows"][str(pascal)][0] == "580"


def test_gpus_of_before_the_table_are_named_as_such(data: dict[str, Any]) -> None:
    assert data["never"] == ["1.0", "2.1", "3.0"]
    assert not {"sm_10", "sm_21", "sm_30"} & {gpu["arch"] for gpu in data["gpus"]}


def test_there_is_one_driver_for_each_branch_newest_first(table: Table) -> None:
    drivers = page_data.drivers_of(table.drivers, "linux")

    branches = [int(each.split(".")[0]) for each in drivers]
    assert branches == sorted({branch.number for branch in table.drivers.branches}, reverse=True)
    assert "525.60.13" in drivers


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (None, ""),
        ("580.95.05", "580.65.06"),
        ("9999", "615"),
        ("545.1", "545.23.06"),
        ("585", "580.65.06"),
        ("390", ""),
    ],
)
def test_a_told_driver_opens_at_its_branch_or_the_next_older(table: Table, told: str | None, shown: str) -> None:
    assert page_data.nearest(told, table.drivers, "linux") == shown
