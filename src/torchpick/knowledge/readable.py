"""The readable files of compat, one a release → builds → the compact index of a platform, which `rows` reads. Pure.

Every fault is a ShapeError with its path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from torchpick.knowledge.pairings import Companions
from torchpick.knowledge.rows import dotted, read_arches, read_lacks, read_libraries, released
from torchpick.model.build import Build, Evidence, TwinWheel
from torchpick.model.fields import Fields, read
from torchpick.model.versions import release_key


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
        evidence=Evidence(
            word,
            evidence.text("ref"),
            None if twin is None else TwinWheel(twin.text("file"), twin.text("sha256")),
        ),
    )


T = TypeVar("T")


def index(platform: str, builds: Iterable[Build]) -> dict[str, object]:
    """The index with the newest release first; values that many rows share stand in it once."""
    arch_sets: dict[tuple[str, ...] | None, int] = {}
    python_sets: dict[tuple[str, ...], int] = {}
    refs: dict[str, int] = {}
    bases: dict[tuple[tuple[str, str], ...], int] = {}
    rows: list[list[object]] = []
    for build in sorted(builds, key=lambda build: release_key(build.torch), reverse=True):
        arches = None if build.arches is None else tuple(str(arch) for arch in build.arches)
        evidence = build.evidence
        rows.append(
            [
                build.torch,
                build.backend,
                build.version,
                build.cuda,
                _place(arch_sets, arches),
                _place(python_sets, tuple(build.pythons)),
                list(build.tags),
                build.glibc,
                dict(build.libraries),
                {library: [str(arch) for arch in arches_] for library, arches_ in build.lacks.items()},
                build.published,
                build.yanked,
                dict(build.companions),
                _place(bases, tuple(sorted(build.companion_basis.items()))),
                evidence.kind,
                _place(refs, evidence.ref),
                None if evidence.twin is None else list(evidence.twin),
            ]
        )
    return {
        "schema": 1,
        "platform": platform,
        "arch_sets": [None if each is None else list(each) for each in arch_sets],
        "python_sets": [list(each) for each in python_sets],
        "refs": list(refs),
        "bases": [dict(each) for each in bases],
        "builds": rows,
    }


def _place(known: dict[T, int], value: T) -> int:
    return known.setdefault(value, len(known))
