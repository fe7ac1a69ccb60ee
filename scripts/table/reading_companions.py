"""What torch's companions say of torch in their METADATA, and which Pythons they have wheels for.

Read from the user's package index into evidence/. Nothing is installed and no wheel is fetched: one page of each name,
and of a version that was not read before the METADATA beside a wheel, else in it by ranges.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from packaging.version import Version

from scripts.table import layout
from torchpick.cli.console import day
from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget, best_wheels
from torchpick.index.projects import ProjectReader
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Platform
from torchpick.model.versions import release_key
from torchpick.wheels.listed import demand_on_torch

# The oldest version of each that belongs to a torch of the table (1.7.0), or says something of torch at all.
OLDEST = {
    "torchvision": "0.8",
    "torchaudio": "0.7",
    "torchcodec": "0.1.0",
    "torchtext": "0.8",
    "torchdata": "0.3",
    "torchao": "0.7.0",
}
# Every CPython that a companion may have wheels for, and the platforms.
_TAGS = (*(f"cp3{minor}" for minor in range(6, 16)), "cp313t", "cp314t", "cp315t")
_PLATFORMS = (
    *("linux-x86_64", "linux-aarch64", "windows-x86_64", "windows-arm64"),
    *("macos-arm64", "macos-x86_64"),
)
# `>=3.10,!=3.14.1`
_LEFT_OUT = re.compile(r"!=\s*(\d+\.\d+\.\d+)(?![\d.*])")


def renew(evidence: Path) -> None:
    """Read the page of every companion, and write down the day where one says something new."""
    known = layout.read(evidence)
    read: dict[str, Any] = {"requires": {}, "pythons": {}, "excluded": {}}
    with ProjectReader(index_places.of_user(os.environ), os.environ, anew=True) as index:
        for name in OLDEST:
            by_version = releases(name, index)
            before = known["requires"].get(name, {})
            # A released file never changes.
            read["requires"][name] = {
                version: before[version] if version in before else demand_on_torch(links[0], index)
                for version, links in by_version.items()
            }
            if name in COMPANIONS:
                read["pythons"][name], read["excluded"][name] = _pythons(by_version), _excluded(by_version)
    if any(known[key] != value for key, value in read.items()):
        layout.write(evidence, {"schema": 1, "date": day(), **read})


def releases(name: str, index: ProjectReader) -> dict[str, list[ProjectFile]]:
    """The releases that count, the newest first, each with its wheels."""
    found: dict[str, list[ProjectFile]] = {}
    for link in index.wheels(name) or ():
        version = link.name.version
        if (
            link.yanked is None
            and not Version(version).is_prerelease
            and release_key(version) >= release_key(OLDEST[name])
        ):
            found.setdefault(version, []).append(link)
    if not found:
        raise TorchpickError(f"the index has no release of {name}", hint="name an index with PIP_INDEX_URL")
    return {version: found[version] for version in sorted(found, key=release_key, reverse=True)}


def _pythons(listed: dict[str, list[ProjectFile]]) -> dict[str, dict[str, list[str]]]:
    """Version → platform → the Pythons that the index has a wheel for."""
    found: dict[str, dict[str, list[str]]] = {version: {} for version in listed}
    links = [link for wheels in listed.values() for link in wheels]
    for name in _PLATFORMS:
        here = [link for link in links if wheelnames.platform_of(link.name.platform) == name]
        for tag in _TAGS:
            target = IndexTarget(tag, Platform.parse(name))
            for version in {link.name.version for link in best_wheels(here, "", target)}:
                found[version].setdefault(name, []).append(tag)
    return {version: platforms for version, platforms in found.items() if platforms}


def _excluded(listed: dict[str, list[ProjectFile]]) -> dict[str, list[str]]:
    """Version → the Pythons X.Y.Z that its Requires-Python leaves out."""
    found = {
        version: sorted({python for link in links for python in _LEFT_OUT.findall(link.requires_python or "")})
        for version, links in listed.items()
    }
    return {version: pythons for version, pythons in found.items() if pythons}
