"""Macs: from which macOS on a wheel installs, and from which torch reaches the GPU through MPS."""

from __future__ import annotations

from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers, release_key

# The last release for Intel Macs (pytorch/pytorch#114602); its Pythons are those of the table.
LAST_FOR_INTEL = "2.2.2"


class MpsFloor(Noun):
    """From this release on, torch's mps device needs at least this macOS."""

    since: str
    macos: str


def installs_from(build: Build) -> str | None:
    """The oldest macOS that a wheel of the build names in its tag: `macosx_11_0_arm64` → 11.0."""
    found = []
    for tag in build.tags:
        parts = tag.split("_")
        if parts[0] == "macosx" and len(parts) > 2 and parts[1].isdigit() and parts[2].isdigit():
            found.append(f"{parts[1]}.{parts[2]}")
    return min(found, key=numbers, default=None)


def mps_from(build: Build, floors: tuple[MpsFloor, ...]) -> str | None:
    """The oldest macOS on which this release reaches the GPU; None where it never does, or nothing is known."""
    release = release_key(build.torch)
    holding = [floor for floor in floors if release_key(floor.since) <= release]
    return max(holding, key=lambda floor: release_key(floor.since)).macos if holding else None
