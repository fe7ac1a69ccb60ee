"""The wheel host (or a mirror): which files are there, and the hash of each."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from urllib.parse import unquote, urlsplit

from torchpick.errors import UsageError, WheelError
from torchpick.index import pages
from torchpick.index.client import Client
from torchpick.index.listing import Link
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

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
