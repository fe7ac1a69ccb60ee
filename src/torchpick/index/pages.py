"""Pages and files of an index, on the web or in a folder, and requirements files elsewhere; each bounded in size."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from torchpick.environment import world
from torchpick.errors import IntegrityError, NetworkError, UsageError, WheelError
from torchpick.index import listing
from torchpick.index.listing import Link
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.8"

_SUFFIXES = (".whl", ".tar.gz", ".zip")


def sidecar(body: bytes, sha256: str, url: str) -> str:
    """The METADATA that lies beside a file; its hash is checked where the page of the file has one."""
    if sha256 and hashlib.sha256(body).hexdigest() != sha256:
        raise IntegrityError(f"{redacted(url)}: the hash of its metadata does not match the index", hint="try again")
    return body.decode("utf-8", "replace")


def fetch(url: str, client: Client, refused: Callable[[str], None] = lambda _: None) -> tuple[Link, ...] | None:
    """The links of a page; None where there is no such page. `refused` is called with what is wrong with one."""
    if url.startswith("file:"):
        return folder(url, refused)
    answer = client.get(url, {"accept": ACCEPT}, absent=True)
    if answer.status != 200:
        return None
    try:
        # Links are relative to where a redirect led.
        return listing.parse(answer.body, answer.url, answer.headers.get("content-type", ""), refused)
    except WheelError as error:
        raise type(error)(f"{redacted(url)}: {error.message}", hint=error.hint) from error


def content(url: str, client: Client) -> bytes:
    """A small file of an index or of a folder."""
    return _bytes(local(url)) if url.startswith("file:") else client.get(url).body


def local(url: str) -> Path:
    """The path of a file: address."""
    path = urlsplit(url).path
    if os.name != "nt":
        return Path(unquote(path))
    from urllib.request import url2pathname  # which loads a client and TLS

    return Path(url2pathname(path))


def folder(url: str, refused: Callable[[str], None] = lambda _: None) -> tuple[Link, ...] | None:
    """A page in a folder: its index.html, else the wheels that lie there."""
    found = page_in_folder(url)
    return None if found is None else listing.parse(*found, refused=refused)


def page_in_folder(url: str) -> tuple[bytes, str] | None:
    """A folder's page, made of the files that lie there where it has none, and what its links are relative to."""
    place = local(url)
    try:
        is_folder = place.is_dir()
        page = place / "index.html" if is_folder else place
        if page.exists():
            body = _bytes(page)
        elif is_folder:
            files = sorted(path.name for path in place.iterdir() if path.name.endswith(_SUFFIXES))
            body = "".join(f'<a href="{quote(name)}">{name}</a>' for name in files).encode()
        else:
            return None
    except OSError as error:
        raise WheelError(f"cannot read {place}: {error.strerror}", hint="check its permissions") from error
    return body, url if not is_folder or url.endswith("/") else url + "/"


def _bytes(path: Path) -> bytes:
    """A file's content; a pipe or a device, which may have no end, is none."""
    try:
        return world.content(str(path), listing.MOST_BYTES)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read: {error.strerror}", hint="check `--index-base`") from error


def fetcher(environ: Mapping[str, str], *, offline: bool) -> Callable[[str], bytes]:
    """What `requirements.read` takes to read such a file; it raises where the network may not be used."""

    def fetch(url: str) -> bytes:
        if offline:
            raise UsageError(f"{redacted(url)} is not on this computer, and `--offline` is given", hint="download it")
        from torchpick.index.client import Client

        with Client(environ=environ) as client:
            return client.get(url).body

    return fetch
