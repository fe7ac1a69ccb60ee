"""What a refresh leaves in the cache: the compact index of one platform, written, and checked when it is read. Pure.

The shipped indexes are written by the same function.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from torchpick.environment.requirementfiles import is_specifier, is_version, is_word
from torchpick.knowledge import indexes
from torchpick.model.address import Address
from torchpick.model.build import Build
from torchpick.model.fields import Fields, ShapeError, plain
from torchpick.model.table import BuildsByRelease
from torchpick.model.versions import is_dotted, release_key

# What many rows have in common, so that a row has no more than its place.
_SHARED = ("arch_sets", "python_sets", "refs", "bases", "companion_pythons", "vendors")


def index(platform: str, builds: Iterable[Build]) -> dict[str, object]:
    """The index with the newest release first; values that many rows share stand in it once."""
    shared: dict[str, dict[str, int]] = {name: {} for name in _SHARED}

    def place(name: str, value: object) -> int:
        return shared[name].setdefault(json.dumps(plain(value)), len(shared[name]))

    listed: list[list[object]] = []
    for build in sorted(builds, key=lambda build: release_key(build.torch), reverse=True):
        evidence = build.evidence
        pythons = {name: place("python_sets", tags) for name, tags in sorted(build.companion_pythons.items())}
        listed.append(
            [
                *(build.torch, build.backend, build.version, build.cuda),
                place("arch_sets", build.arches),
                place("python_sets", build.pythons),
                *(build.tags, build.glibc, build.libraries, build.lacks),
                *(build.published, build.yanked, build.companions),
                place("bases", dict(sorted(build.companion_basis.items()))),
                place("companion_pythons", pythons),
                evidence.kind,
                place("refs", evidence.ref),
                evidence.twin and [*evidence.twin.values()],
                None if build.vendor is None else place("vendors", tuple(build.vendor)),
            ]
        )
    values = {name: [json.loads(value) for value in places] for name, places in shared.items()}
    return {"schema": 1, "platform": platform, **values, "builds": [plain(row) for row in listed]}


def read(value: object) -> tuple[BuildsByRelease, str | None, frozenset[str] | None]:
    """The builds of an index, the day on which it was written, and the names of all that its server lists.

    ShapeError where a judgement would stumble over a build.
    """
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
    return BuildsByRelease.of(builds), fields.maybe_text("date"), listed


def _is_sound(build: Build) -> bool:
    """Whether its values are what is compared, sorted, printed and written for pip and uv later."""
    companions = [version for version in build.companions.values() if version is not None]
    for version in (build.torch, *companions):
        release_key(version)
    pythons = [tag for tags in (build.pythons, *build.companion_pythons.values()) for tag in tags]
    names = (build.platform, build.backend, *pythons, *build.tags)
    if build.vendor is not None:
        Address(build.vendor.url)
    kind, ref, twin = build.evidence
    sources = (*build.companion_basis.values(), kind, ref, *(twin or {}).values())
    dotted = (build.cuda, build.glibc, build.libraries.get("cudnn"), build.libraries.get("nccl"))
    return (
        build.version.partition("+")[0] == build.torch
        and all(isinstance(text, str) for text in sources)
        and all(map(is_word, names))
        and all(map(is_version, (build.version, *companions)))
        and all(map(is_specifier, build.libraries.values()))
        and all(text is None or is_dotted(text) for text in dotted)
        and build.published in (None, False, True)
        and isinstance(build.yanked, bool)
    )
