"""Which torchvision and torchaudio go with a build that the table does not know, from their own pages and metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress

from torchpick.decide.wishes import is_backend
from torchpick.errors import TorchpickError
from torchpick.index import wheelnames
from torchpick.index.archive import Archive, metadata_of
from torchpick.index.listing import Link
from torchpick.index.user_index import UserIndex
from torchpick.model.build import COMPANIONS, DEFAULT_INDEX, Build
from torchpick.model.noun import Noun
from torchpick.model.versions import admits, grouped, release_key
from torchpick.wheels import listed

# `Requires-Dist: torch (==2.16.0)`, the newer spelling without brackets, and lower bounds
_OF_TORCH = re.compile(r"^Requires-Dist: *torch *\(? *((?:[<>=!~]=? *[0-9][0-9A-Za-z.*]* *,? *)*)\)?", re.MULTILINE)
# How many of the newest releases are read: a companion comes out within days of its torch.
_DEEP = 4
# Built against torch's stable ABI: names no torch, works with every later one (docs.pytorch.org/audio/2.11.0).
_STABLE_ABI = {"torchaudio": "2.11.0"}


class CompanionRelease(Noun):
    """One release of a companion, its files, and what it asks of torch: None where it does not name it."""

    version: str
    links: tuple[Link, ...]
    asks: str | None


class CompanionPages:
    """The companions' own pages, each read when it is first asked for; `archive` opens a wheel by its address."""

    def __init__(self, index: UserIndex, archive: Callable[[str], AbstractContextManager[Archive]]) -> None:
        self._index, self._archive = index, archive
        self._known: dict[str, tuple[CompanionRelease, ...]] = {}

    def paired(self, row: Build) -> Build:
        """The row with the companions that have a file for its backend and platform and are built for its torch."""
        found = {name: one for name in COMPANIONS if (one := self._best(name, row)) is not None}
        versions = {name: _files(one, row)[0].wheel.version for name, one in found.items()}
        bases = {name: _basis(one, row) for name, one in found.items()}
        pythons = {name: tags for name, one in found.items() if (tags := _pythons(one, row))}
        return row._replace(companions=versions, companion_basis=bases, companion_pythons=pythons)

    def _best(self, name: str, row: Build) -> CompanionRelease | None:
        """The one whose metadata pins this torch; else the newest that allows it."""
        mine = [one for one in self._candidates(name) if _fits(name, one, row) and _files(one, row)]
        pinned = [one for one in mine if _basis(one, row) == "metadata"]
        return next(iter(pinned or mine), None)

    def _candidates(self, name: str) -> tuple[CompanionRelease, ...]:
        """The newest releases of a companion, the newest first; none where its page cannot be read."""
        if name not in self._known:
            self._known[name] = ()
            with suppress(TorchpickError):
                self._known[name] = tuple(self._read(self._index.links(name) or ()))
        return self._known[name]

    def _read(self, links: Iterable[Link]) -> Iterator[CompanionRelease]:
        groups = grouped((_plain(link), link) for link in links if _is_release(_plain(link)))
        for version in sorted(groups, key=release_key, reverse=True)[:_DEEP]:
            with suppress(TorchpickError):
                match = _OF_TORCH.search(self._metadata(groups[version][0]))
                asks = match and match[1].replace(" ", "")
                yield CompanionRelease(version, tuple(groups[version]), asks)

    def _metadata(self, link: Link) -> str:
        """A wheel's METADATA: the file beside it, else read by ranges."""
        if (text := self._index.metadata(link)) is not None:
            return text
        with self._archive(link.url) as archive:
            return metadata_of(archive) or ""


def _fits(name: str, one: CompanionRelease, row: Build) -> bool:
    """Whether it is built for this torch: it pins it, its lower bound allows it, or it uses the stable ABI alone."""
    if not one.asks:
        stable = _STABLE_ABI.get(name)
        if stable is None or row.backend == DEFAULT_INDEX:
            # It loads beside its own CUDA alone, and without a label no name says which that is.
            return False
        return release_key(stable) <= min(release_key(one.version), release_key(row.torch))
    try:
        return bool(admits(one.asks, prereleases=True)(row.torch))
    except ValueError:
        return False


def _basis(one: CompanionRelease, row: Build) -> str:
    return "metadata" if (one.asks or "").partition("+")[0] == f"=={row.torch}" else "inferred"


def _files(one: CompanionRelease, row: Build) -> list[Link]:
    """Its files for this backend and platform; some carry no label, or a commit for one, where torch's own has it."""
    here = [link for link in one.links if wheelnames.platform_of(link.wheel.platform) == row.platform]
    labels = [(link.wheel.version.partition("+")[2], link) for link in here]
    labelled = [link for label, link in labels if label == row.version.partition("+")[2]]
    return labelled or [link for label, link in labels if not is_backend(label) and f"/{row.backend}/" in link.url]


def _pythons(one: CompanionRelease, row: Build) -> tuple[str, ...]:
    """The Pythons that its files for this build are for; none where one file is for every Python."""
    tags = [listed.python_of(link) for link in _files(one, row)]
    return () if None in tags else listed.in_order(tag for tag in tags if tag is not None)


def _plain(link: Link) -> str:
    return link.wheel.version.partition("+")[0]


def _is_release(version: str) -> bool:
    try:
        release_key(version)
    except ValueError:
        return False
    return True
