"""The readable files of compat, one a release → builds. Pure; every fault is a ShapeError with its path."""

from __future__ import annotations

from typing import TypeVar

from scripts.table.pairings import Companions
from scripts.table.strict_rows import dotted, read_arches, read_lacks, read_libraries, released
from torchpick.model.build import Build, Evidence, TwinWheel
from torchpick.model.fields import Fields, read


def builds(fields: Fields, companions: Companions) -> list[Build]:
    """The builds of one release."""
    torch = fields.text("torch")
    released(torch, fields.at("torch"))
    return [_build(row, torch, companions) for row in fields.objects("builds")]


def _build(row: Fields, torch: str, companions: Companions) -> Build:
    evidence = row.object("evidence")
    twin = evidence.maybe_object("twin")
    backend = row.text("backend")
    platform, version = row.text("platform"), row.text("version")
    _, plus, local = version.partition("+")
    for name in ("cuda", "glibc"):
        dotted(row.maybe_text(name), row.at(name))
    paired = companions(torch, backend, platform, plus + local, row.maybe_text("cuda"))
    word = evidence.text("kind")
    if word not in ("measured", "declared"):
        raise evidence.fail("kind", f"must be measured or declared, is {word!r}")
    return read(
        Build,
        row,
        most=None,
        torch=torch,
        arches=None if row.raw("arches") is None else read_arches(row.texts("arches"), row.at("arches")),
        libraries=read_libraries(row.raw("libraries"), row.at("libraries")),
        lacks=read_lacks(row.raw("lacks"), row.at("lacks")),
        companions=paired.versions,
        companion_basis=paired.bases,
        companion_pythons=paired.pythons,
        vendor=None,
        extras=(),
        evidence=Evidence(
            word,
            evidence.text("ref"),
            None if twin is None else TwinWheel(twin.text("file"), twin.text("sha256")),
        ),
    )


T = TypeVar("T")
