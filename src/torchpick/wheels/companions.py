"""Which torchvision and torchaudio go with a release that the table does not know, from the wheels' own metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from torchpick.errors import TorchpickError
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.versions import release_key
from torchpick.wheels.listing import Link
from torchpick.wheels.pages import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.wheels.refresh import Job

# `Requires-Dist: torch (==2.16.0)`, and the newer spelling without brackets
_EXACT = re.compile(r"^Requires-Dist: *torch *\(? *== *([0-9][0-9A-Za-z.]*)", re.MULTILINE)
# So many of the newest releases are looked into: a companion comes out within days of its torch.
_DEEP = 4


class Pair(NamedTuple):
    """Plain versions, and how they are known: `metadata` where each says so itself, else `inferred`."""

    versions: dict[str, str | None]
    basis: str


def find(torch: str, page: Callable[[str], Page], metadata: Callable[[str, str], str], job: Job) -> Pair:
    """The companions whose metadata pins this torch. One that pins none is left open, and never guessed."""
    versions: dict[str, str | None] = {}
    for name in COMPANIONS:
        try:
            links = page(f"{job.base.rstrip('/')}/{name}/").links or ()
        except TorchpickError:
            links = ()
        version = next((_plain(link) for link in _newest(links, name) if _pins(link, torch, metadata)), None)
        if version is not None:
            versions[name] = version
    return Pair(versions, "metadata" if versions else "inferred")


def _newest(links: tuple[Link, ...], name: str) -> list[Link]:
    """One wheel of each of the newest releases."""
    found: dict[str, Link] = {}
    for link in links:
        if link.wheel.project == name:
            found.setdefault(_plain(link), link)
    known = []
    for version, link in found.items():
        try:
            known.append((release_key(version), link))
        except ValueError:
            continue
    return [link for _, link in sorted(known, key=lambda pair: pair[0], reverse=True)[:_DEEP]]


def _plain(link: Link) -> str:
    return link.wheel.version.partition("+")[0]


def _pins(link: Link, torch: str, metadata: Callable[[str, str], str]) -> bool:
    try:
        found = _EXACT.search(metadata(link.url, link.file))
    except TorchpickError:
        return False
    return found is not None and found[1].partition("+")[0] == torch


def labelled(pair: Pair, row: Build) -> Build:
    """The row with these companions, under its own local label."""
    versions = {name: None if version is None else version + row.label for name, version in pair.versions.items()}
    return row._replace(companions=versions, companion_basis=pair.basis)


def like(other: Build, row: Build) -> Build:
    """The row with the companions of another build of its release."""
    plain = {name: version and version.partition("+")[0] for name, version in other.companions.items()}
    return labelled(Pair(plain, other.companion_basis), row)
