"""The table for a terminal."""

from __future__ import annotations

import pytest

from torchpick.cli.show import matrix as table
from torchpick.decide.matrix import Cell, Row
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build, Evidence
from torchpick.model.machine import Driver, Gpu
from torchpick.model.verdict import GpuFit, Objection, Rank, Reason, Verdict
from torchpick.model.versions import release_key

RELEASES = ("2.14.1", "2.7.1", "1.13.1")


def verdict(torch: str, backend: str, fit: Fit) -> Verdict:
    build = Build(
        torch=torch,
        backend=backend,
        platform="linux-x86_64",
        version=f"{torch}+{backend}",
        cuda="12.6",
        arches=(),
        pythons=("cp312",),
        tags=(),
        glibc=None,
        libraries={},
        lacks={},
        published=True,
        yanked=False,
        companions={},
        companion_basis={},
        evidence=Evidence("declared", "a test"),
    )
    objections = () if fit else (Objection(Reason.NO_KERNELS, {"gpu": "it", "arches": "sm_90"}, 0),)
    rank = Rank(2, release_key(torch), int(fit), True, (12, 6), backend)
    return Verdict(build, objections, (GpuFit(0, fit, None),), native=True, rank=rank)


def row(capability: tuple[int, int], *fits: Fit, name: str | None = None) -> Row:
    cells = tuple(Cell(torch, (verdict(torch, "cu126", fit),)) for torch, fit in zip(RELEASES, fits, strict=True))
    return Row(Gpu(0, "nvidia", name, Arch.of_capability(*capability)), Driver("580", source="assumed"), cells)


def test_gpus_that_fare_alike_stand_in_one_column() -> None:
    rows = [
        row((6, 0), Fit.EXACT, Fit.EXACT, Fit.NONE),
        row((6, 1), Fit.BINARY, Fit.EXACT, Fit.NONE),
        row((9, 0), Fit.EXACT, Fit.NONE, Fit.NONE),
    ]

    lines = table.text(rows, RELEASES, None).splitlines()

    assert lines[:6] == [
        "torch   sm_60  sm_90",
        "        sm_61",
        "2.14.1  cu126  cu126",
        "2.7.1   cu126  -",
        "",
        "1.13.1 and older: none runs",
    ]
    assert any(line.startswith("sm_61  Pascal  driver 580, the newest that supports it") for line in lines)


def test_what_the_driver_compiles_is_marked_and_the_mark_explained() -> None:
    text = table.text([row((9, 0), Fit.JIT, Fit.EXACT, Fit.EXACT)], RELEASES, None)

    assert "2.14.1  cu126*" in text
    assert "*  the driver compiles its code at first use" in text


def test_a_told_name_stands_above_its_column_and_cannot_reach_the_terminal_raw() -> None:
    text = table.text([row((6, 1), Fit.EXACT, Fit.EXACT, Fit.EXACT, name="GTX\x1b[2J 1080")], RELEASES, None)

    assert "\x1b" not in text
    assert "GTX\\x1b[2J 1080" in text


@pytest.mark.parametrize("width", [20, 24, 40, 80])
def test_a_narrow_terminal_gets_blocks_that_fit(width: int) -> None:
    rows = [
        row((major, 0), *(Fit.EXACT if place < major - 4 else Fit.NONE for place in range(3))) for major in (5, 6, 7)
    ]

    text = table.text(rows, RELEASES, width)

    heads = [line for line in text.splitlines() if line.startswith("torch")]
    assert sum(line.count("sm_") for line in heads) == 3
    assert all(len(line) <= width for line in heads)


def test_nothing_to_show_is_said() -> None:
    assert table.text([], RELEASES, None) == "no release is within what was asked for"
    assert (
        table.text([row((6, 1), Fit.NONE, Fit.NONE, Fit.NONE)], (), None) == "no release is within what was asked for"
    )


def test_where_nothing_runs_every_release_is_still_shown() -> None:
    text = table.text([row((6, 1), Fit.NONE, Fit.NONE, Fit.NONE)], RELEASES, None)

    assert [line.split() for line in text.splitlines()[1:4]] == [[torch, "-"] for torch in RELEASES]
