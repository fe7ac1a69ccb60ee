"""What a refresh leaves in the cache: the compact index of one platform, written, and checked when it is read. Pure.

The shipped indexes are written by the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from torchpick.knowledge import indexes
from torchpick.model.build import Build, VendorIndex
from torchpick.model.fields import Fields, ShapeError, plain
from torchpick.model.noun import Noun
from torchpick.model.table import Shelf
from torchpick.model.versions import is_dotted, release_key

T = TypeVar("T")


def index(platform: str, builds: Iterable[Build]) -> dict[str, object]:
    """The index with the newest release first; values that many rows share stand in it once."""
    arch_sets: dict[tuple[str, ...] | None, int] = {}
    python_sets: dict[tuple[str, ...], int] = {}
    refs: dict[str, int] = {}
    bases: dict[tuple[tuple[str, str], ...], int] = {}
    companion_pythons: dict[tuple[tuple[str, int], ...], int] = {}
    vendors: dict[VendorIndex, int] = {}
    listed: list[list[object]] = []
    for build in sorted(builds, key=lambda build: release_key(build.torch), reverse=True):
        arches = None if build.arches is None else tuple(map(str, build.arches))
        evidence = build.evidence
        own = [(name, _place(python_sets, tuple(tags))) for name, tags in sorted(build.companion_pythons.items())]
        listed.append(
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
                {library: list(map(str, lacking)) for library, lacking in build.lacks.items()},
                build.published,
                build.yanked,
                dict(build.companions),
                _place(bases, tuple(sorted(build.companion_basis.items()))),
                _place(companion_pythons, tuple(own)),
                evidence.kind,
                _place(refs, evidence.ref),
                None if evidence.twin is None else list(evidence.twin),
                None if build.vendor is None else _place(vendors, build.vendor),
            ]
        )
    return {
        "schema": 1,
        "platform": platform,
        "arch_sets": [None if arches is None else list(arches) for arches in arch_sets],
        "python_sets": [list(tags) for tags in python_sets],
        "refs": list(refs),
        "bases": [dict(basis) for basis in bases],
        "companion_pythons": [dict(own) for own in companion_pythons],
        "vendors": [plain(tuple(vendor)) for vendor in vendors],
        "builds": listed,
    }


def _place(known: dict[T, int], value: T) -> int:
    return known.setdefault(value, len(known))


class RefreshedBuilds(Noun):
    """The builds of an index, the day on which it was written, and the names of all that its server lists."""

    shelf: Shelf
    date: str | None
    listed: frozenset[str] | None


def read(value: object) -> RefreshedBuilds:
    """Every build of an index; ShapeError where a judgement would stumble over one."""
    fields = Fields(value)
    listed = frozenset(fields.texts("listed")) if fields.has("listed") else None
    index: Mapping[str, Any] = value  # type: ignore[assignment]  # it is one
    try:
        builds = [build for later in indexes.index_shelf(index).values() for build in later()]
        damaged = next((build for build in builds if not _is_sound(build)), None)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ShapeError("builds", f"cannot be read: {error}") from error
    if damaged is not None:
        raise ShapeError("builds", f"has values for {damaged.version!r} that no build has")
    return RefreshedBuilds(Shelf.of(builds), fields.maybe_text("date"), listed)


def _is_sound(build: Build) -> bool:
    """Whether its values are what is compared, sorted and printed later."""
    companions = [version for version in build.companions.values() if version is not None]
    for version in (build.torch, *companions):
        release_key(version)
    pythons = [tag for tags in (build.pythons, *build.companion_pythons.values()) for tag in tags]
    names = (build.platform, build.backend, build.version, *pythons, *build.tags, *build.libraries.values())
    sources = (*build.companion_basis.values(), build.evidence.kind, build.evidence.ref, *(build.evidence.twin or ()))
    dotted = (build.cuda, build.glibc, build.libraries.get("cudnn"), build.libraries.get("nccl"))
    return (
        build.version.partition("+")[0] == build.torch
        and all(isinstance(text, str) for text in (*names, *sources))
        and all(text is None or is_dotted(text) for text in dotted)
        and build.published in (None, False, True)
        and isinstance(build.yanked, bool)
    )
