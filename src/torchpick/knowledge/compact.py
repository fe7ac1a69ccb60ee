"""Builds → the compact index of one platform: what `rows.index_shelf` reads. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from torchpick.model.build import Build
from torchpick.model.versions import release_key

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
