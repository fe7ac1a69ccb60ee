"""The user's own index and the wheel host, read by ourselves: versions, wheels that a Python can take, hashes."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack, closing
from typing import NamedTuple
from urllib.parse import urlsplit

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchpick.environment import interpreter
from torchpick.environment.world import World, opened
from torchpick.errors import InstallerError, RequirementError, TorchpickError, UsageError, WheelError
from torchpick.index import index_places, pages, wheelnames
from torchpick.index.pages import Link
from torchpick.index.projectfiles import IndexTarget, suits_python
from torchpick.index.wheelnames import WheelTarget
from torchpick.model.address import redacted
from torchpick.model.build import python_name
from torchpick.model.machine import TIMEOUT_S, Note, Platform
from torchpick.model.versions import normal, parsed, some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from torchpick.index.client import Client

_CHUNK = 1 << 20
_TRITON = re.compile(r"Requires-Dist:\s*((?:pytorch-)?triton(?:-rocm|-xpu)?) *\(?([^;)\n]*)", re.IGNORECASE)


def fitting(links: Iterable[Link], specifier: str, target: IndexTarget) -> list[Link]:
    """The wheels that this Python can take, of the versions that the specifier admits, the best first."""
    admitted = SpecifierSet(specifier)
    exact = any(part.operator in ("==", "===") and not part.version.endswith(".*") for part in admitted)
    ranked: list[tuple[Version, int, Link]] = []
    for link in links:
        rank = wheelnames.rank(link.wheel, target.tag, target.platform)
        if rank is not None and (link.yanked is None or exact) and suits_python(link.requires_python, target):
            ranked.append((Version(link.wheel.version), -rank, link))
    # Pre-releases count where the specifier names one or there is nothing else (PEP 440).
    versions = set(admitted.filter({version for version, _, _ in ranked}))
    best = sorted((key for key in ranked if key[0] in versions), key=lambda key: key[:2], reverse=True)
    return [link for _, _, link in best]


def best(name: str, specifier: str, listed: Collection[Link], page: str, target: IndexTarget) -> Link:
    """The newest wheel of a project that suits; the page is only named."""
    links = fitting(listed, specifier, target)
    if not links:
        versions = sorted({link.wheel.version for link in fitting(listed, "", target)})[-5:]
        why = f"it has {', '.join(versions) or 'none'} for this Python" if listed else "no file of it is listed there"
        hint = f"`--index-base URL` names a mirror, `torchpick refresh` reads what the index has; or leave {name} out"
        raise InstallerError(
            f"{redacted(page)} has no {name}{specifier} that fits: {why}", hint=hint, code="NOT_ON_PAGE"
        )
    return links[0]


class UserIndex:
    """The indexes and link pages of a user as one; each page is read once. It knows no constraints.

    Without a client it opens one where it has to; close it then.
    """

    def __init__(
        self,
        places: index_places.IndexPlaces,
        client: Client | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        offline: bool = False,
    ) -> None:
        self.places, self._environ, self._offline = places, environ, offline
        self._client, self._stack = client, ExitStack()
        self._pages: dict[str, tuple[Link, ...] | TorchpickError | None] = {}
        self._refused: dict[str, list[str]] = {}  # by the page, what is wrong with the links that were passed over

    def close(self) -> None:
        self._stack.close()

    def client(self, url: str) -> Client:
        """What reads a page of the web."""
        if self._offline:
            raise UsageError(
                f"a lock needs {redacted(url)}, and `--offline` forbids it",
                hint="remove `--offline`, or use a folder with the wheels: `--index-base file:///…`",
            )
        if self._client is None:
            from torchpick.index.client import Client

            self._client = self._stack.enter_context(Client(environ=self._environ))
        return self._client

    def candidates(self, name: str, specifier: str, target: IndexTarget) -> list[Link]:
        """The wheels that fit, the best first."""
        return fitting(self.links(name) or (), specifier, target)

    def metadata(self, link: Link) -> str | None:
        """The METADATA that lies beside a wheel (PEP 658); None where the index has none."""
        if link.metadata is None or link.url.startswith("file:"):
            return None
        document = self.client(link.url).get(f"{link.url}.metadata", absent=True)
        return pages.sidecar(document.body, link.metadata, link.url) if document.status == 200 else None

    def links(self, name: str) -> tuple[Link, ...] | None:
        """Every wheel of the name; None where no index knows it."""
        name = normal(name)
        wheels = [link for page in self.places.links for link in self._on(page, name) or ()]
        is_known = bool(wheels)
        for index in self.places.indexes:
            listed = self._on(_page(index, name), name)
            wheels += listed or ()
            is_known = is_known or listed is not None
            if self.places.first_only and listed is not None:
                break
        return tuple(wheels) if is_known else None

    def refused(self, name: str) -> list[str]:
        """What is wrong with links of the name that were passed over."""
        urls = (*self.places.links, *(_page(index, normal(name)) for index in self.places.indexes))
        return [text for url in urls for text in self._refused.get(url, ())]

    def notes(self) -> list[Note]:
        """What was passed over on the pages that were read."""
        return [
            Note("LINK_REFUSED", f"{redacted(url)}: {some_of(texts, 1, '; ')}, so that file is passed over")
            for url, texts in self._refused.items()
            if texts
        ]

    def _on(self, url: str, name: str) -> list[Link] | None:
        if url not in self._pages:
            refused = self._refused.setdefault(url, []).append
            try:
                is_local = url.startswith("file:")
                links = pages.folder(url, refused) if is_local else pages.fetch(url, self.client(url), refused)
                self._pages[url] = links
            except TorchpickError as error:  # one that cannot be read is not tried again
                self._pages[url] = error
        page = self._pages[url]
        if isinstance(page, TorchpickError):
            raise page
        return None if page is None else [link for link in page if link.wheel.project == name]


def _page(index: str, name: str) -> str:
    return f"{index.rstrip('/')}/{name}/"


class Host(UserIndex):
    """The wheel host, or its mirror; close it. A flat one is a single page for every project.

    Of a folder the wheels that lie in it count as well as those of the projects' own.
    """

    def __init__(self, index: str, *, flat: bool = False, offline: bool = False) -> None:
        links = (index,) if flat or index.startswith("file:") else ()
        super().__init__(index_places.IndexPlaces(() if flat else (index,), links), offline=offline)

    def links(self, name: str) -> tuple[Link, ...]:
        """The wheels of a project there."""
        return super().links(name) or ()

    def tritons(self, wheel: str) -> Mapping[str, str]:
        """The triton that a torch wheel requires and its specifier, from the metadata file beside the wheel."""
        url = f"{wheel.partition('#')[0]}.metadata"
        body = pages.content(url, None if url.startswith("file:") else self.client(url))
        return {match[1].lower(): match[2].strip() for match in _TRITON.finditer(body.decode("utf-8", "replace"))}


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
    required = check(requirement)
    target = target_of(wanted)
    with closing(UserIndex(index_places.of_user(environ, wanted.program), client, environ)) as index:
        links = index.candidates(required.name, str(required.specifier), target)
        if not links:
            raise _failure(required, target, index)
    return links[0]


def target_of(wanted: WheelTarget) -> IndexTarget:
    """The tags' Python and platform."""
    if wanted.python is None:
        here = interpreter.running()
    else:
        here = interpreter.choose(wanted.python, World.here(), time.monotonic() + TIMEOUT_S)
    platform = here.platform if wanted.platform is None else Platform.parse(wanted.platform, wanted.glibc)
    if wanted.glibc is not None and platform.os == "linux":
        platform = platform._replace(glibc=wanted.glibc)
    return IndexTarget(here.python.tag, platform)


def _failure(requirement: Requirement, target: IndexTarget, index: UserIndex) -> WheelError:
    """Why there is none: no such project, no such version, or none for this Python."""
    where = ", ".join(map(redacted, (*index.places.indexes, *index.places.links))) or "no index at all"
    hint = f"that is from {index.places.source}'s settings; `PIP_INDEX_URL=URL` specifies another index"
    links = index.links(requirement.name)
    if links is None:
        return WheelError(f"`{requirement}`: {requirement.name} is not on {where}", hint=hint, code="NOT_FOUND")
    versions = sorted({Version(link.wheel.version) for link in links}, reverse=True)
    some = ", ".join(map(str, versions[:5])) or "no wheel at all"
    glibc = f" with glibc {target.platform.glibc}" if target.platform.glibc else ""
    aim = f"{python_name(target.tag)} on {target.platform.name}{glibc}"
    name = requirement.name
    hint = f"request another version, `{name}==VERSION`; `--python`, `--platform` and `--glibc` another machine"
    text = "; ".join([f"`{requirement}`: {where} has no wheel of it for {aim}, but {some}", *index.refused(name)[:1]])
    return WheelError(text, hint=hint, code="NOT_FOUND")


def sha256_of(url: str) -> str:
    """The hash of a file on this computer."""
    path, digest = pages.local(url), hashlib.sha256()
    try:
        with opened(str(path)) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise WheelError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    return digest.hexdigest()


class Shown(NamedTuple):
    """A URL as a lock may hold it: without fragment and credentials, and whether there were any."""

    url: str
    had_credentials: bool


def shown(url: str) -> Shown:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return Shown(parts._replace(netloc=host, fragment="").geturl(), host != parts.netloc)
