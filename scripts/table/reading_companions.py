"""What torch's companions say of torch in their METADATA, and which Pythons they have wheels for.

Read from the user's package index into evidence/. Nothing is installed and no wheel is fetched: one page of each name,
and of a version that was not read before the METADATA beside a wheel, else in it by ranges.
"""

from __future__ import annotations

import datetime
import os
import re
import sys
from collections.abc import Iterable, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.version import Version

from scripts.table import layout
from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import Link
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.ranges import Archive, RemoteSource, metadata_of
from torchpick.index.user_index import UserIndex, fitting
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Platform
from torchpick.model.versions import release_key

EVIDENCE = Path(__file__).parents[2] / "evidence" / "companions.json"
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
# `torch (==1.7.1)`, `torch==2.8.0`, `torch >=2.14.0 ; python_version < "4"`
_OF_TORCH = re.compile(r"torch\s*\(?\s*((?:[<>=!~]=?\s*[0-9][0-9.*]*\s*,?\s*)*)\)?\s*(?:;.*)?")


def main(words: Sequence[str]) -> int:
    """Read the page of every companion, or of those named, and write down the day."""
    names = [name for name in OLDEST if not words or name in words]
    known = layout.read(EVIDENCE)
    requires, pythons, excluded = known["requires"], known["pythons"], known["excluded"]
    try:
        with Client() as client:
            index = UserIndex(index_places.of_user(os.environ), client)
            for name in names:
                found = releases(name, index)
                requires[name] = {
                    # A released file never changes.
                    version: requires[name][version]
                    if version in requires.get(name, {})
                    else required(links, index, client)
                    for version, links in found.items()
                }
                if name in COMPANIONS:
                    pythons[name], excluded[name] = _pythons(found), _excluded(found)
                print(f"{name}: {len(found)} versions", file=sys.stderr)
    except TorchpickError as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return error.exit_status
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    layout.write(EVIDENCE, {"schema": 1, "date": today, "requires": requires, "pythons": pythons, "excluded": excluded})
    return 0


def releases(name: str, index: UserIndex) -> dict[str, list[Link]]:
    """The releases that count, the newest first, each with its wheels."""
    found: dict[str, list[Link]] = {}
    for link in index.links(name) or ():
        version = link.wheel.version
        if (
            link.yanked is None
            and not Version(version).is_prerelease
            and release_key(version) >= release_key(OLDEST[name])
        ):
            found.setdefault(version, []).append(link)
    if not found:
        raise TorchpickError(f"the index has no release of {name}", hint="name an index with PIP_INDEX_URL")
    return {version: found[version] for version in sorted(found, key=release_key, reverse=True)}


def _pythons(listed: dict[str, list[Link]]) -> dict[str, dict[str, list[str]]]:
    """Version → platform → the Pythons that the index has a wheel for."""
    found: dict[str, dict[str, list[str]]] = {version: {} for version in listed}
    links = [link for wheels in listed.values() for link in wheels]
    for name in _PLATFORMS:
        here = [link for link in links if wheelnames.platform_of(link.wheel.platform) == name]
        for tag in _TAGS:
            target = IndexTarget(tag, Platform.parse(name))
            for version in {link.wheel.version for link in fitting(here, "", target)}:
                found[version].setdefault(name, []).append(tag)
    return {version: platforms for version, platforms in found.items() if platforms}


def _excluded(listed: dict[str, list[Link]]) -> dict[str, list[str]]:
    """Version → the Pythons X.Y.Z that its Requires-Python leaves out."""
    found = {
        version: sorted({python for link in links for python in _LEFT_OUT.findall(link.requires_python or "")})
        for version, links in listed.items()
    }
    return {version: pythons for version, pythons in found.items() if pythons}


def torch_of(requirements: Iterable[str]) -> str | None:
    """What these requirements ask of torch: a specifier, empty where any will do, None where torch is not named."""
    found = (match[1] for text in requirements if (match := _OF_TORCH.fullmatch(text)))
    return next(("".join(text.split()) for text in found), None)


def required(links: Sequence[Link], index: UserIndex, client: Client) -> str | None:
    """What a release asks of torch, as its first wheel says."""
    text = index.metadata(links[0])
    if text is None:
        source = RemoteSource(links[0].url, client)
        try:
            text = metadata_of(Archive(source)) or ""
        finally:
            source.close()
    return torch_of(HeaderParser().parsestr(text).get_all("Requires-Dist", ()))
