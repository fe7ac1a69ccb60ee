"""The user's own index, read by ourselves: versions, the wheels that a Python can take, and what lies beside them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchpick.errors import IntegrityError, TorchpickError
from torchpick.index import pages, tags
from torchpick.index.client import Client
from torchpick.index.listing import Link
from torchpick.index.places import IndexPlaces
from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.requirement import normal


class IndexTarget(Noun):
    """What wheels are for: the Python's tag, its version as far as it is known, and the platform."""

    tag: str
    platform: Platform
    version: str | None = None

    @property
    def full_version(self) -> str:
        """For Requires-Python; a Python of unknown patch level is taken for a late one."""
        major, minor = tags.version_of(self.tag)
        return self.version or f"{major}.{minor}.99"


class IndexCandidate(Noun):
    """A wheel that suits, and the index or page it is on."""

    link: Link
    version: Version
    place: str


class SeenPages:
    """What was read of the user's indexes in a run, for all threads: a page of many projects is read by one of them."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[IndexCandidate, ...] | None] = {}
        self.flat: dict[str, tuple[Link, ...] | TorchpickError] = {}
        self.lock = threading.Lock()


class UserIndex:
    """The indexes and link pages of the user as one; each page is read once. It knows no constraints."""

    def __init__(self, places: IndexPlaces, client: Client, seen: SeenPages | None = None) -> None:
        self.places, self._client, self._seen = places, client, seen or SeenPages()

    def versions(self, name: str) -> tuple[Version, ...] | None:
        """Every version that has a wheel, the newest first; None where no index knows the name."""
        found = self._all(name)
        return None if found is None else tuple(sorted({one.version for one in found}, reverse=True))

    def links(self, name: str) -> tuple[Link, ...] | None:
        """Every wheel of the name, for any Python and platform; None where no index knows it."""
        found = self._all(name)
        return None if found is None else tuple(one.link for one in found)

    def candidates(self, name: str, specifier: str, target: IndexTarget) -> tuple[IndexCandidate, ...]:
        """The wheels that this Python can take, of the versions that the specifier admits, the best first."""
        admitted = SpecifierSet(specifier)
        exact = any(part.operator in ("==", "===") and not part.version.endswith(".*") for part in admitted)
        fitting: list[tuple[Version, int, IndexCandidate]] = []
        for one in self._all(name) or ():
            rank = tags.rank(one.link.wheel, target.tag, target.platform)
            if rank is not None and (one.link.yanked is None or exact) and _suits(one.link, target):
                fitting.append((one.version, -rank, one))
        # Pre-releases count where the specifier names one or there is nothing else (PEP 440).
        versions = set(admitted.filter({version for version, _, _ in fitting}))
        best = sorted((key for key in fitting if key[0] in versions), key=lambda key: key[:2], reverse=True)
        return tuple(one for _, _, one in best)

    def metadata(self, link: Link) -> str | None:
        """The METADATA that lies beside a wheel (PEP 658); None where the index has none."""
        if link.metadata is None or link.url.startswith("file:"):
            return None
        answer = self._client.get(f"{link.url}.metadata")
        if answer.status != 200:
            return None
        if link.metadata and hashlib.sha256(answer.body).hexdigest() != link.metadata:
            name = redacted(link.url)
            raise IntegrityError(f"{name}: the hash of its metadata does not match the index", hint="try again")
        return answer.body.decode("utf-8", "replace")

    def _all(self, name: str) -> tuple[IndexCandidate, ...] | None:
        name = normal(name)
        if name not in self._seen.found:
            self._seen.found[name] = self._read(name)
        return self._seen.found[name]

    def _read(self, name: str) -> tuple[IndexCandidate, ...] | None:
        found: list[IndexCandidate] = []
        known = False
        for place in self.places.links:
            found += _of(name, self._links(place), place)
            known = known or bool(found)
        for index in self.places.indexes:
            page = pages.fetch(f"{index.rstrip('/')}/{name}/", self._client)
            if page.missing:
                continue
            known = True
            found += _of(name, page.links or (), index)
            if self.places.first_only:
                break
        return tuple(found) if known else None

    def _links(self, place: str) -> tuple[Link, ...]:
        """A page of the wheels of many projects; one that cannot be read is not tried again."""
        seen = self._seen
        with seen.lock:  # the other threads wait for it, and do not read it too
            if place not in seen.flat:
                try:
                    seen.flat[place] = tuple(pages.fetch(place, self._client).links or ())
                except TorchpickError as error:
                    seen.flat[place] = error
            found = seen.flat[place]
        if isinstance(found, TorchpickError):
            raise found
        return found


def _of(name: str, links: Iterable[Link], index: str) -> list[IndexCandidate]:
    return [IndexCandidate(link, Version(link.wheel.version), index) for link in links if link.wheel.project == name]


def _suits(link: Link, target: IndexTarget) -> bool:
    if not link.requires_python:
        return True
    try:
        return SpecifierSet(link.requires_python).contains(target.full_version, prereleases=True)
    except ValueError:
        return True  # what cannot be read does not bind, as with pip
