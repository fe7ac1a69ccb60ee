"""The compact indexes → builds and rules. Pure.

What is shipped is trusted: `scripts/check-compat` and a test hold it against its format; `refreshed` checks the cache.
"""

from __future__ import annotations

from torchpick.model.arch import Arch, parsed
from torchpick.model.build import Build, Evidence, VendorIndex
from torchpick.model.table import (
    DriverTable,
    Floor,
    Kind,
    Table,
)
from torchpick.model.versions import grouped, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from torchpick.model.fields import Fields
    from torchpick.model.table import Read

    Row = Mapping[str, Any]


def arches_of(texts: Iterable[str]) -> tuple[Arch, ...]:
    return tuple(map(parsed, texts))


def index_shelf(index: Mapping[str, Any]) -> dict[str, Read]:
    """The builds of one compact index by release, each release read when it is asked for."""
    arch_sets = [None if texts is None else arches_of(texts) for texts in index["arch_sets"]]
    python_sets = [tuple(tags) for tags in index["python_sets"]]
    companion_pythons = [
        {name: python_sets[number] for name, number in sets.items()} for sets in index["companion_pythons"]
    ]
    vendors = [
        VendorIndex(vendor, url, option, tuple(projects), arches_of(documented), alone, tuple(inferred), tuple(needs))
        for vendor, url, option, projects, documented, alone, inferred, needs in index["vendors"]
    ]

    def read_build(row: list[Any]) -> Build:
        torch, backend, version, cuda, arches, pythons, tags, glibc, libraries, lacks, *rest = row
        published, yanked, companions, basis, sets, kind, ref, twin, vendor = rest
        return Build(
            torch,
            backend,
            index["platform"],
            version,
            cuda,
            arch_sets[arches],
            python_sets[pythons],
            tuple(tags),
            glibc,
            libraries,
            {library: arches_of(texts) for library, texts in lacks.items()},
            published,
            yanked,
            companions,
            index["bases"][basis],
            Evidence(kind, index["refs"][ref], twin and {"file": twin[0], "sha256": twin[1]}),
            companion_pythons[sets],
            None if vendor is None else vendors[vendor],
        )

    def read_later(rows: list[list[Any]]) -> Read:
        return lambda: tuple(map(read_build, rows))

    by_release = grouped((row[0], row) for row in index["builds"])
    return {torch: read_later(rows) for torch, rows in by_release.items()}


def rules(index: Row) -> Table:
    """The rules, the capabilities of the names index, the date; no builds yet."""
    return Table(
        {},
        drivers(index),
        cudnn=_floors(index["cudnn"]),
        nccl=_floors(index["nccl"]),
        brought=tuple(
            (row["cuda_major"], wheel, library)
            for row in index["brought"]
            for wheel, libraries in row["wheels"].items()
            for library in libraries
        ),
        capabilities=frozenset(index["capabilities"]),
        rocblas_gaps=tuple((row["from"], row["before"], arches_of(row["lacks"])) for row in index["rocblas"]),
        gfx_overrides={
            arch: (row["as"], row["why"])
            for row in index["overrides"]
            if row["works"]
            for arch in arches_of(row["targets"])
        },
        mps=tuple((row["from"], row["macos"]) for row in index["mps"]),
        date=index["date"],
        excluded=index["excluded"],
        kinds=tuple(Kind(parsed(arch), name, tuple(sold), tuple(on)) for arch, name, sold, on in index["kinds"]),
    )


def drivers(index: Row) -> DriverTable:
    branches = sorted(index["branches"], key=lambda row: row["branch"])
    toolkits = sorted(index["toolkit_arches"], key=lambda row: numbers(row["cuda"]))
    return DriverTable(
        toolkits={row["cuda"]: _per_os(row) for row in index["toolkits"]},
        majors={row["cuda_major"]: _per_os(row) for row in index["majors"]},
        branches={row["branch"]: row["cuda"] for row in branches},
        windows_last={row["branch"]: row["windows_last"] for row in branches},
        last_branch={_capability(text): row["branch"] for row in index["last_branch"] for text in row["capabilities"]},
        first_driver={_capability(text): _per_os(row) for row in index["first_driver"] for text in row["capabilities"]},
        unified_tegra=index["unified_tegra"]["linux"],
        generations=tuple((row["cuda"], frozenset(map(int, row["majors"]))) for row in toolkits),
    )


def first_remedies(causes: Fields) -> dict[str, str]:
    """What to do first, by the code of a cause in errors.json; where it has steps alone, the first for any text."""
    remedies: dict[str, str] = {}
    for row in causes.objects("signatures"):
        steps = row.objects("steps") if row.has("steps") else ()
        ways = (*row.texts("cures"), *(step.text("do") for step in steps if not step.texts("where")))
        remedies |= {row.text("id"): way for way in ways[:1]}
    return remedies


def _floors(rows: list[Row]) -> tuple[Floor, ...]:
    return tuple((row["from"], _capability(row["floor"]), row.get("cuda_major")) for row in rows)


def _per_os(row: Row) -> dict[str, str]:
    return {os: row[os] for os in ("linux", "windows") if row.get(os) is not None}


def _capability(text: str) -> tuple[int, int]:
    major, minor = numbers(text)
    return major, minor
