"""What the index of rules says → what a judgement asks of it. Pure; what is shipped is trusted, as in `rows`."""

from __future__ import annotations

from torchpick.knowledge.rows import arches_of
from torchpick.model.table import (
    AmdIndex,
    AmdRules,
    Branch,
    DriverTable,
    Floor,
    GfxOverride,
    LibraryFloors,
    MpsFloor,
    RocblasGap,
    Table,
)
from torchpick.model.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchpick.model.fields import Fields

    Row = Mapping[str, Any]


def rules(index: Row) -> Table:
    """The rules, the capabilities of the names index, the date; no builds yet."""
    return Table(
        {},
        drivers(index),
        LibraryFloors(cudnn=_floors(index["cudnn"]), nccl=_floors(index["nccl"])),
        frozenset(index["capabilities"]),
        amd=amd(index),
        mps=tuple(MpsFloor(row["from"], row["macos"]) for row in index["mps"]),
        date=index["date"],
    )


def drivers(index: Row) -> DriverTable:
    branches = (Branch(row["branch"], row["cuda"], row["windows_last"]) for row in index["branches"])
    generations = ((row["cuda"], frozenset(map(int, row["majors"]))) for row in index["toolkit_arches"])
    return DriverTable(
        toolkits={row["cuda"]: _per_os(row) for row in index["toolkits"]},
        majors={row["cuda_major"]: _per_os(row) for row in index["majors"]},
        branches=tuple(sorted(branches, key=lambda branch: branch.number)),
        last_branch={_capability(text): row["branch"] for row in index["last_branch"] for text in row["capabilities"]},
        first_driver={_capability(text): _per_os(row) for row in index["first_driver"] for text in row["capabilities"]},
        unified_tegra=index["unified_tegra"]["linux"],
        generations=tuple(sorted(generations, key=lambda generation: numbers(generation[0]))),
    )


def amd(index: Row) -> AmdRules:
    """RocBLAS, overrides and AMD's own indexes."""
    return AmdRules(
        tuple(RocblasGap(row["from"], row["before"], arches_of(row["lacks"])) for row in index["rocblas"]),
        tuple(
            GfxOverride(arches_of(row["targets"]), row["as"], row["works"], row["why"]) for row in index["overrides"]
        ),
        tuple(AmdIndex(row["url"], tuple(row["platforms"]), arches_of(row["targets"])) for row in index["indexes"]),
    )


def triton_floors(libraries: Fields) -> list[tuple[str, tuple[int, int]]]:
    """The floors of triton in libraries.json that are sure: from this version on, at least this capability."""
    sure = [row for row in libraries.objects("triton") if row.text("confidence") == "high"]
    return [(row.text("from"), _capability(row.text("floor"))) for row in sure]


def _floors(rows: list[Row]) -> tuple[Floor, ...]:
    return tuple(Floor(row["from"], _capability(row["floor"]), row.get("cuda_major")) for row in rows)


def _per_os(row: Row) -> dict[str, str]:
    return {os: row[os] for os in ("linux", "windows") if row.get(os) is not None}


def _capability(text: str) -> tuple[int, int]:
    major, minor = numbers(text)
    return major, minor
