"""Fetching the pages of an index, on the web or in a folder; a page that did not change costs one small request."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

import httpx

from torchpick.errors import NetworkError, TorchpickError, WheelError
from torchpick.wheels import listing, web
from torchpick.wheels.listing import Link
from torchpick.wheels.source import CHUNK

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.8"
_ATTEMPTS = 3


class Page(NamedTuple):
    """The links of a page; None where the page is the one that `tag` names, or where there is none (`missing`)."""

    url: str
    links: tuple[Link, ...] | None
    tag: str | None = None
    missing: bool = False
    cost: int = 0


def fetch(url: str, client: httpx.Client, tag: str | None = None) -> Page:
    """Read one page; `tag` is what the last reading of it got."""
    if url.startswith("file:"):
        return _folder(url)
    headers = {"accept": _ACCEPT}
    if tag is not None:
        headers["if-none-match" if tag.startswith(('"', "W/")) else "if-modified-since"] = tag
    failure: TorchpickError | None = None
    for _ in range(_ATTEMPTS):
        try:
            with client.stream("GET", url, headers=headers) as response:
                status = response.status_code
                if status == 304 and tag is not None:
                    return Page(url, None, tag)
                if status in (403, 404, 410):  # the wheel host answers 403 for what it does not have
                    return Page(url, None, missing=True)
                if status == 200:
                    return _page(response, url)
                failure = web.refusal(web.redacted(url), status)
                if status not in web.PASSING:
                    break
        except httpx.HTTPError as error:
            failure = web.failure(web.redacted(url), error)
        except (httpx.InvalidURL, ValueError) as error:
            raise web.failure(web.redacted(url), error) from error
    raise failure or NetworkError(f"{web.redacted(url)} cannot be read", hint=web.HINT)


def _page(response: httpx.Response, url: str) -> Page:
    body = bytearray()
    for chunk in response.iter_bytes(CHUNK):
        body += chunk
        if len(body) > listing.MOST_BYTES:
            raise WheelError(f"{web.redacted(url)} is larger than {listing.MOST_BYTES >> 20} MB", hint=web.HINT)
    # Links are relative to where a redirect led.
    links = listing.parse(bytes(body), str(response.url), response.headers.get("content-type", ""))
    tag = response.headers.get("etag") or response.headers.get("last-modified")
    return Page(url, links, tag, cost=len(body))


def local(url: str) -> Path:
    """The path of a file: address."""
    return Path(url2pathname(urlsplit(url).path))


def _folder(url: str) -> Page:
    """A page in a folder: its index.html, else the wheels that lie there."""
    folder = local(url)
    try:
        page = folder / "index.html" if folder.is_dir() else folder
        if page.is_file():
            body = page.read_bytes()
        elif folder.is_dir():
            files = sorted(path.name for path in folder.iterdir() if path.suffix == ".whl")
            body = "".join(f'<a href="{quote(name)}">{name}</a>' for name in files).encode()
        else:
            return Page(url, None, missing=True)
    except OSError as error:
        raise WheelError(f"cannot read {folder}: {error.strerror}", hint="check its permissions") from error
    base = url if folder.is_file() or url.endswith("/") else url + "/"
    return Page(url, listing.parse(body, base), cost=len(body))
