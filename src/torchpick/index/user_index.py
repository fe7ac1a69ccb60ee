"""The user's own index, read by ourselves: versions, the wheels that a Python can take, and what lies beside them."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from threading import Lock

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import RequirementError, TorchpickError, WheelError
from torchpick.index import index_places, pages, wheelnames
from torchpick.index.listing import Link, WheelTarget
from torchpick.model.machine import TIMEOUT_S, Platform
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from torchpick.index.client import Client


class IndexTarget(Noun):
    """What wheels are for: the Python's tag, its version as far as it is known, and the platform."""

    tag: str
    platform: Platform
    version: str | None = None

    @property
    def full_version(self) -> str:
        """For Requires-Python; a Python of unknown patch level is taken for a late one."""
        major, minor = wheelnames.version_of(self.tag)
        return self.version or f"{major}.{minor}.99"


def fitting(links: Iterable[Link], specifier: str, target: IndexTarget) -> list[Link]:
    """The wheels that this Python can take, of the versions that the specifier admits, the best first."""
    admitted = SpecifierSet(specifier)
    exact = any(part.operator in ("==", "===") and not part.version.endswith(".*") for part in admitted)
    found: list[tuple[Version, int, Link]] = []
    for link in links:
        rank = wheelnames.rank(link.wheel, target.tag, target.platform)
        if rank is not None and (link.yanked is None or exact) and _suits(link, target):
            found.append((Version(link.wheel.version), -rank, link))
    # Pre-releases count where the specifier names one or there is nothing else (PEP 440).
    versions = set(admitted.filter({version for version, _, _ in found}))
    best = sorted((key for key in found if key[0] in versions), key=lambda key: key[:2], reverse=True)
    return [link for _, _, link in best]


class SeenPages:
    """What was read of the user's indexes in a run, for all threads: each page by one of them, and only once."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Link, ...] | TorchpickError | None] = {}
        self.refused: dict[str, list[str]] = {}  # by the page, what is wrong with the links that were passed over
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)

    def page(self, url: str, client: Client) -> tuple[Link, ...] | None:
        """One that cannot be read is not tried again."""
        with self._locks[url]:  # the other threads wait for it, and do not read it too
            if url not in self._found:
                try:
                    self._found[url] = pages.fetch(url, client, self.refused.setdefault(url, []).append)
                except TorchpickError as error:
                    self._found[url] = error
            found = self._found[url]
        if isinstance(found, TorchpickError):
            raise found
        return found


class UserIndex:
    """The indexes and link pages of the user as one; each page is read once. It knows no constraints."""

    def __init__(self, places: index_places.IndexPlaces, client: Client, seen: SeenPages | None = None) -> None:
        self.places, self._client, self._seen = places, client, seen or SeenPages()

    def candidates(self, name: str, specifier: str, target: IndexTarget) -> list[Link]:
        """The wheels that fit, the best first."""
        return fitting(self.links(name) or (), specifier, target)

    def metadata(self, link: Link) -> str | None:
        """The METADATA that lies beside a wheel (PEP 658); None where the index has none."""
        if link.metadata is None or link.url.startswith("file:"):
            return None
        answer = self._client.get(f"{link.url}.metadata", absent=True)
        if answer.status != 200:
            return None
        return pages.sidecar(answer.body, link.metadata, link.url)

    def links(self, name: str) -> tuple[Link, ...] | None:
        """Every wheel of the name; None where no index knows it."""
        name = normal(name)
        found = [link for place in self.places.links for link in self._on(place, name) or ()]
        known = bool(found)
        for index in self.places.indexes:
            listed = self._on(f"{index.rstrip('/')}/{name}/", name)
            found += listed or ()
            known = known or listed is not None
            if self.places.first_only and listed is not None:
                break
        return tuple(found) if known else None

    def refused(self, name: str) -> list[str]:
        """What is wrong with links of the name that were passed over."""
        found = self._seen.refused
        pages_ = (*self.places.links, *(f"{index.rstrip('/')}/{normal(name)}/" for index in self.places.indexes))
        return [text for page in pages_ for text in found.get(page, ())]

    def _on(self, url: str, name: str) -> list[Link] | None:
        links = self._seen.page(url, self._client)
        return None if links is None else [link for link in links if link.wheel.project == name]


def _suits(link: Link, target: IndexTarget) -> bool:
    if not link.requires_python:
        return True
    try:
        return SpecifierSet(link.requires_python).contains(target.full_version, prereleases=True)
    except ValueError:
        return True  # what cannot be read does not bind, as with pip


def check(requirement: str) -> Requirement:
    """Read a requirement; refuse what is not one, or more than a name and its versions."""
    hint = "write it as `name`, `name==1.2.3` or `name>=1.2`"
    shown = redacted(requirement[:200])
    try:
        read = parsed(requirement)
    except ValueError as error:
        raise RequirementError(f"`{shown}` is neither a file nor a valid requirement", hint=hint) from error
    if read.url or read.marker:
        raise RequirementError(f"`{shown}` has an address or a condition, which inspect does not support", hint=hint)
    return read


def locate(
    requirement: str, wanted: WheelTarget, environ: Mapping[str, str] = os.environ, client: Client | None = None
) -> Link:
    """The newest wheel of the user's own index that meets the requirement and fits the target."""
    asked = check(requirement)
    from torchpick.index.client import Client

    target = target_of(wanted)
    with ExitStack() as stack:
        client = client or stack.enter_context(Client(environ=environ))
        index = UserIndex(index_places.of_user(environ, wanted.program), client)
        found = index.candidates(asked.name, str(asked.specifier), target)
        if not found:
            raise _failure(asked, target, index)
    return found[0]


def target_of(wanted: WheelTarget) -> IndexTarget:
    """The tags' Python and platform."""
    if wanted.python is None:
        here = interpreter.own()
    else:
        here = interpreter.choose(wanted.python, World.here(), time.monotonic() + TIMEOUT_S)
    platform = here.platform if wanted.platform is None else Platform.parse(wanted.platform, wanted.glibc)
    if wanted.glibc is not None and platform.os == "linux":
        platform = platform._replace(glibc=wanted.glibc)
    return IndexTarget(here.python.tag, platform)


def _failure(asked: Requirement, target: IndexTarget, index: UserIndex) -> WheelError:
    """Why there is none: no such project, no such version, or none for this Python."""
    where = ", ".join(map(redacted, (*index.places.indexes, *index.places.links))) or "no index at all"
    hint = f"that is from {index.places.source}'s settings; `PIP_INDEX_URL=URL` specifies another index"
    links = index.links(asked.name)
    if links is None:
        return WheelError(f"`{asked}`: {asked.name} is not on {where}", hint=hint, code="NOT_FOUND")
    versions = sorted({Version(link.wheel.version) for link in links}, reverse=True)
    some = ", ".join(map(str, versions[:5])) or "no wheel at all"
    glibc = f" with glibc {target.platform.glibc}" if target.platform.glibc else ""
    aim = f"{python_name(target.tag)} on {target.platform.name}{glibc}"
    hint = f"request another version, `{asked.name}==VERSION`; `--python`, `--platform` and `--glibc` another machine"
    text = "; ".join([f"`{asked}`: {where} has no wheel of it for {aim}, but {some}", *index.refused(asked.name)[:1]])
    return WheelError(text, hint=hint, code="NOT_FOUND")
