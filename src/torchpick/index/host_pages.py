"""The pages of the wheel host or its mirror: the files of torch's family, the one that suits, and the hash of each."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from urllib.parse import unquote, urlsplit

from torchpick.errors import InstallerError, UsageError, WheelError
from torchpick.index import pages, wheelnames
from torchpick.index.client import Client
from torchpick.index.listing import Link
from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.version import Version


_CHUNK = 1 << 20


class Host:
    """Pages of one index, each read once; close it."""

    def __init__(self, *, offline: bool) -> None:
        self._offline = offline
        self._stack = ExitStack()
        self._client: Client | None = None
        self._pages: dict[str, tuple[Link, ...] | None] = {}

    def close(self) -> None:
        self._stack.close()

    def links(self, index: str, name: str, *, flat: bool) -> tuple[Link, ...] | None:
        """The wheels of a project there; None if the host has no page for it."""
        page = index if flat else f"{index}/{name}/"
        if page not in self._pages:
            self._pages[page] = _of_folder(page, index) if page.startswith("file:") else self._fetched(page)
        found = self._pages[page]
        return None if found is None else tuple(link for link in found if link.wheel.project == name)

    def _web(self, url: str) -> Client:
        if self._offline:
            raise UsageError(
                f"a lock needs {redacted(url)}, and `--offline` forbids it",
                hint="remove `--offline`, or use a folder with the wheels: `--index-base file:///…`",
            )
        if self._client is None:
            self._client = self._stack.enter_context(Client())
        return self._client

    def _fetched(self, page: str) -> tuple[Link, ...] | None:
        return pages.fetch(page, self._web(page)).links


def _of_folder(page: str, index: str) -> tuple[Link, ...] | None:
    """A mirror that is a folder: a page in it, its wheels, or those of the backend's folder above."""
    return pages.folder(page).links or pages.folder(index).links or None


def sha256_of(url: str) -> str:
    """The hash of a file on this computer."""
    path, digest = pages.local(url), hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise WheelError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    return digest.hexdigest()


class Shown(Noun):
    """A URL as a lock may hold it: without fragment and credentials, and whether there were any."""

    url: str
    had_credentials: bool


def shown(url: str) -> Shown:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return Shown(parts._replace(netloc=host, fragment="").geturl(), host != parts.netloc)


def file_of(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


Read = Callable[[str], bytes]
_UNFIT = sys.maxsize
_TRITON = re.compile(r"Requires-Dist:\s*((?:pytorch-)?triton(?:-rocm|-xpu)?)\s*\(?([^;)\n]*)", re.IGNORECASE)


class Place(Noun):
    """Where a pick's wheels are for: the Python's tag, and the platform they must run on."""

    tag: str
    platform: Platform


def best(name: str, specifier: str, listed: Iterable[Link], page: str, place: Place) -> str:
    """The address of the newest wheel that suits, with its hash if the page has it; the page is only named."""
    links = [link for link in listed if link.wheel.project == name and suits(link, place)]
    fitting = [link for link in links if admits(specifier)(link.wheel.version)]
    if not fitting:
        shown = sorted({link.wheel.version for link in links})[-5:]
        there = f"it has {', '.join(shown)} for this Python" if shown else "it has none for this Python"
        hint = f"remove {name}, or install it separately afterwards"
        raise InstallerError(
            f"{redacted(page)} has no {name}{specifier} that fits: {there}", hint=hint, code="NOT_ON_PAGE"
        )
    # Of one version the one whose tags suit best, and never another because of its build tag.
    newest = max(fitting, key=lambda link: (order(link.wheel.version), -_rank(link, place), link.file))
    return newest.url + (f"#sha256={newest.sha256}" if newest.sha256 else "")


def triton_of(wheel: str, read: Read) -> Mapping[str, str]:
    """The triton that a torch wheel requires and its specifier, from the metadata file beside the wheel."""
    text = read(f"{wheel}.metadata").decode("utf-8", "replace")
    return {match[1].lower(): match[2].strip() for match in _TRITON.finditer(text)}


def order(version: str) -> Version:
    """Newest last: 0.0.33 < 0.0.33.post2 < 0.0.33.post10; a text that is not a version comes first."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version.partition("+")[0])
    except (InvalidVersion, ValueError):  # ValueError: more digits than int() takes
        return Version("0.dev0")


def suits(link: Link, place: Place) -> bool:
    return link.yanked is None and _rank(link, place) < _UNFIT


def _rank(link: Link, place: Place) -> int:
    """How well its tags suit, 0 the best."""
    rank = wheelnames.rank(link.wheel, place.tag, place.platform)
    return _UNFIT if rank is None else rank


def read(url: str) -> bytes:
    """A small file of the wheel host or a mirror."""
    with Client() as client:
        return pages.text(url, client)
