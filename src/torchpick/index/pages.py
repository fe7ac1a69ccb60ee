"""Fetching the pages of an index, on the web or in a folder; a page that did not change costs one small request."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISREG
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from torchpick.errors import NetworkError, WheelError
from torchpick.index import listing
from torchpick.index.client import Client
from torchpick.index.failures import ABSENT, refusal
from torchpick.index.listing import Link
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.8"


class Page(Noun):
    """The links of a page; None where the page is the one that `tag` names, or where there is none (`missing`)."""

    url: str
    links: tuple[Link, ...] | None
    tag: str | None = None
    missing: bool = False
    cost: int = 0


def fetch(url: str, client: Client, tag: str | None = None) -> Page:
    """Read one page; `tag` is what the last reading of it got."""
    if url.startswith("file:"):
        return folder(url)
    headers = {"accept": _ACCEPT}
    if tag is not None:
        headers["if-none-match" if tag.startswith(('"', "W/")) else "if-modified-since"] = tag
    answer = client.get(url, headers)
    if answer.status == 304 and tag is not None:
        return Page(url, None, tag)
    if answer.status in ABSENT:
        return Page(url, None, missing=True)
    if answer.status != 200:
        raise refusal(redacted(url), answer.status)
    try:
        # Links are relative to where a redirect led.
        links = listing.parse(answer.body, answer.url, answer.headers.get("content-type", ""))
    except WheelError as error:
        raise type(error)(f"{redacted(url)}: {error.message}", hint=error.hint) from error
    return Page(url, links, answer.headers.get("etag") or answer.headers.get("last-modified"), cost=len(answer.body))


def text(url: str, client: Client) -> bytes:
    """A small file of an index or of a folder."""
    if url.startswith("file:"):
        return _bytes(local(url))
    answer = client.get(url)
    if answer.status != 200:
        raise refusal(redacted(url), answer.status)
    return answer.body


def local(url: str) -> Path:
    """The path of a file: address."""
    return Path(url2pathname(urlsplit(url).path))


def folder(url: str) -> Page:
    """A page in a folder: its index.html, else the wheels that lie there."""
    place = local(url)
    try:
        is_folder = place.is_dir()
        page = place / "index.html" if is_folder else place
        if page.exists():
            body = _bytes(page)
        elif is_folder:
            files = sorted(path.name for path in place.iterdir() if path.suffix == ".whl")
            body = "".join(f'<a href="{quote(name)}">{name}</a>' for name in files).encode()
        else:
            return Page(url, None, missing=True)
    except OSError as error:
        raise WheelError(f"cannot read {place}: {error.strerror}", hint="check its permissions") from error
    base = url if not is_folder or url.endswith("/") else url + "/"
    return Page(url, listing.parse(body, base), cost=len(body))


def _bytes(path: Path) -> bytes:
    """A file's content; a pipe or a device, which may have no end, is none."""
    try:
        if not S_ISREG(path.stat().st_mode):
            raise NetworkError(f"{path} is not a regular file", hint="check the address of the index")
        with path.open("rb") as stream:
            content = stream.read(listing.MOST_BYTES + 1)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read: {error.strerror}", hint="check `--index-base`") from error
    if len(content) > listing.MOST_BYTES:
        raise NetworkError(f"{path} is larger than {listing.MOST_BYTES >> 20} MiB", hint="check `--index-base`")
    return content
