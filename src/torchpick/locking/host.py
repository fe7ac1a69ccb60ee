"""The wheel host (or a mirror) as a lock needs it: which files lie there, and the hash of each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import httpx

from torchpick.errors import (
    IntegrityError,
    NetworkError,
    RangesUnsupportedError,
    UsageError,
    WheelError,
)
from torchpick.wheels import download, listing, names, web
from torchpick.wheels.listing import Link
from torchpick.wheels.remote import RemoteSource

# The page of torch for one backend has some 500 links; a flat mirror's page holds every backend's.
MOST_BYTES = 64 << 20
_ATTEMPTS = 3
# S3 answers 403 for what is not there, so it says no more than 404 does.
_ABSENT = (403, 404, 410)
_CHUNK = 1 << 20
Tell = Callable[[int], None]


class Host:
    """Pages of one index, each read once; close it."""

    def __init__(self, *, offline: bool) -> None:
        self._offline = offline
        self._stack = ExitStack()
        self._client: httpx.Client | None = None
        self._pages: dict[str, tuple[Link, ...] | None] = {}

    def close(self) -> None:
        self._stack.close()

    def links(self, index: str, name: str, *, flat: bool) -> tuple[Link, ...] | None:
        """The wheels of a project there; None where the host has no page of it."""
        page = index if flat else f"{index}/{name}/"
        if page not in self._pages:
            self._pages[page] = _of_folder(page, index) if page.startswith("file:") else self._fetched(page)
        found = self._pages[page]
        return None if found is None else tuple(link for link in found if link.wheel.project == name)

    def sha256(self, url: str, most: int, tell: Tell | None) -> str:
        """The hash of a file, of which every byte is read; WheelError where it is larger than allowed."""
        if url.startswith("file:"):
            return _of_file(_path(url))
        if not most:
            raise WheelError(
                f"the index tells no sha256 of {web.redacted(url)}, and a lock without is none",
                hint="`--download-most 4000` (in MB) lets torchpick compute it from the file",
                code="NO_HASH",
            )
        client = self._web(url)
        digest = hashlib.sha256()
        try:
            source = RemoteSource(url, client, tell)
        except RangesUnsupportedError:
            return self._whole(url, client, most, tell)
        try:
            if source.size > most:
                raise _too_large(url, source.size, most)
            for chunk in source.stream(0, source.size):
                digest.update(chunk)
        finally:
            source.close()
        return digest.hexdigest()

    def _whole(self, url: str, client: httpx.Client, most: int, tell: Tell | None) -> str:
        with ExitStack() as stack:
            try:
                path = download.download(url, client, stack, download.Allowed(most), tell)
            except WheelError as error:
                if isinstance(error, IntegrityError):
                    raise
                raise _too_large(url, None, most) from error
            return _of_file(str(path))

    def _web(self, url: str) -> httpx.Client:
        if self._offline:
            raise UsageError(
                f"a lock needs {web.redacted(url)}, and `--offline` forbids it",
                hint="leave out `--offline`, or name a folder that holds the wheels: `--index-base file:///…`",
            )
        if self._client is None:
            self._client = self._stack.enter_context(web.client())
        return self._client

    def _fetched(self, page: str) -> tuple[Link, ...] | None:
        client = self._web(page)
        name = web.redacted(page)
        for attempt in range(_ATTEMPTS):
            try:
                with client.stream("GET", page) as response:
                    if response.status_code in _ABSENT:
                        return None
                    if response.status_code in web.PASSING and attempt + 1 < _ATTEMPTS:
                        continue
                    if response.status_code != 200:
                        raise web.refusal(name, response.status_code)
                    return listing.parse(_bounded(response, name), page, response.headers.get("content-type", ""))
            except httpx.HTTPError as error:
                if attempt + 1 == _ATTEMPTS or not isinstance(error, httpx.TransportError):
                    raise web.failure(name, error) from error
            except httpx.InvalidURL as error:
                raise web.failure(name, error) from error
        return None


def _bounded(response: httpx.Response, name: str) -> bytes:
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > MOST_BYTES:
            raise NetworkError(f"{name} is larger than {MOST_BYTES >> 20} MiB", hint="check `--index-base`")
    return bytes(content)


def _too_large(url: str, size: int | None, most: int) -> WheelError:
    has = "is larger" if size is None else f"has {size >> 20} MB, more"
    return WheelError(
        f"{web.redacted(url)} {has} than the {most >> 20} MB that may be downloaded for its hash",
        hint="raise it: `--download-most 8000` (in MB)",
    )


def _path(url: str) -> str:
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)


def _of_folder(page: str, index: str) -> tuple[Link, ...] | None:
    """A mirror that is a folder: a page in it, its wheels, or those of the backend's folder above."""
    path = _path(page)
    if os.path.isfile(path):
        return _page_file(path, page)
    inside = os.path.join(path, "index.html")
    if os.path.isfile(inside):
        return _page_file(inside, page if page.endswith("/") else f"{page}/")
    for folder in (page, index):
        found = []
        try:
            listed = sorted(os.listdir(_path(folder)))
        except OSError:
            continue
        for file in listed:
            wheel = names.parse(file)
            if wheel is not None:
                found.append(Link(file, f"{folder.rstrip('/')}/{quote(file)}", wheel))
        if found:
            return tuple(found)
    return None


def _page_file(path: str, page: str) -> tuple[Link, ...]:
    try:
        with open(path, "rb") as stream:
            return listing.parse(stream.read(MOST_BYTES), page)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read: {error.strerror}", hint="check `--index-base`") from error


def _of_file(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
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


def file_of(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])
