"""An index page → links to wheels, in the forms met in the wild (PEP 503 HTML, PEP 691 JSON). Pure.

No kept library does this light enough: pypi-simple needs beautifulsoup4 and pydantic, mousebender a class for each
version of the API, and what the wheel host really sends (`+` as %2B, no hash, a bare sidecar mark) needs care anyhow.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from torchpick.errors import WheelLayoutError
from torchpick.wheels import names
from torchpick.wheels.names import WheelName

# The page of torch over all variants has some 10,000 links in 5 MB.
MOST_BYTES = 128 << 20
MOST_LINKS = 500_000
_HASH = re.compile(r"sha256[=:]([0-9a-f]{64})")
_TAG = re.compile(r"<(?:!--|(a|base)(?=\s))", re.IGNORECASE)
_QUOTE_OR_END = re.compile(r"[\"'>]")
# A name starts where another thing ended, so that a long one is tried once and not from each of its letters.
_ATTRIBUTE = re.compile(r"(?<![^\s\"'/])([^\s=\"'<>/]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_YANKED = re.compile(r"\sdata-yanked(?=\s|$)", re.IGNORECASE)
_HINT = "check that the address is an index of Python packages"


class Link(NamedTuple):
    """One wheel on a page; what the page does not say is None."""

    file: str
    url: str
    wheel: WheelName
    sha256: str | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, which may be empty
    metadata: str | None = None  # sha256 of the sidecar file, or empty where only its presence is told
    uploaded: str | None = None
    size: int | None = None


def parse(page: bytes, url: str, content_type: str = "text/html") -> tuple[Link, ...]:
    """The wheels of a page that came from this URL, in the page's order; what is no wheel is passed over."""
    if len(page) > MOST_BYTES:
        raise WheelLayoutError(f"the page has {len(page)} bytes", hint=_HINT)
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    found: list[Link] = []
    for link in _of_json(text, url) if wants_json else _of_html(text, url):
        found.append(link)
        if len(found) > MOST_LINKS:
            raise WheelLayoutError(f"the page has more than {MOST_LINKS} links", hint=_HINT)
    return tuple(found)


def _link(href: str, base: str, file: str | None = None) -> Link | None:
    """A Link where the href leads to a wheel."""
    try:
        address, fragment = urldefrag(urljoin(base, href.strip()))
        path = urlsplit(address).path
    except ValueError:  # `http://[` and its like
        return None
    file = file or unquote(path.rpartition("/")[2])
    wheel = names.parse(file)
    if wheel is None:
        return None
    digest = _HASH.search(fragment.lower())
    return Link(file, address, wheel, sha256=digest[1] if digest else None)


def _of_json(text: str, base: str) -> Iterator[Link]:
    try:
        page = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WheelLayoutError(f"the page is not JSON: {error}", hint=_HINT) from error
    files = page.get("files") if isinstance(page, dict) else None
    if not isinstance(files, list):
        raise WheelLayoutError("the page lists no files", hint=_HINT)
    for entry in files:
        if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
            continue
        link = _link(entry["url"], base, _text(entry.get("filename")))
        if link is None:
            continue
        hashes = entry.get("hashes")
        size = entry.get("size")
        yanked = entry.get("yanked")
        yield link._replace(
            sha256=_digest(hashes) or link.sha256,
            requires_python=_text(entry.get("requires-python")),
            yanked=yanked if isinstance(yanked, str) else "" if yanked is True else None,
            metadata=_sidecar(entry.get("core-metadata", entry.get("dist-info-metadata"))),
            uploaded=_text(entry.get("upload-time")),
            size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _digest(hashes: object) -> str | None:
    found = _HASH.fullmatch(f"sha256={hashes.get('sha256')}".lower()) if isinstance(hashes, dict) else None
    return found[1] if found else None


def _sidecar(value: object) -> str | None:
    """What a page says of the metadata file beside a wheel: true, a hash, or nothing."""
    if value in (None, False, "", "false"):
        return None
    if isinstance(value, dict):
        return _digest(value) or ""
    found = _HASH.fullmatch(str(value).lower())
    return found[1] if found else ""


def _of_html(text: str, base: str) -> Iterator[Link]:
    """The anchors of a page; `<base href>` is obeyed, comments are not read."""
    for tag, inside in _tags(text):
        found = {name.lower(): html.unescape(value[1:-1]) for name, value in _ATTRIBUTE.findall(inside)}
        href = found.get("href")
        if href is None:
            continue
        if tag.lower() == "base":
            with suppress(ValueError):
                base = urljoin(base, href)
            continue
        link = _link(href, base)
        if link is None:
            continue
        yield link._replace(
            requires_python=found.get("data-requires-python"),
            yanked=found.get("data-yanked", "" if _YANKED.search(inside) else None),
            metadata=_sidecar(found.get("data-core-metadata", found.get("data-dist-info-metadata"))),
            uploaded=found.get("data-upload-time"),
        )


def _tags(text: str) -> Iterator[tuple[str, str]]:
    """Name and inside of each `a` and `base` tag; every character is passed once, so a hostile page costs its length.

    html.parser took quadratic time on unclosed markup until late 2025.
    """
    place = 0
    while (match := _TAG.search(text, place)) is not None:
        start = match.end()
        if match[1] is None:
            end = text.find("-->", start)
        elif (end := _end(text, start)) >= 0:
            yield match[1], text[start:end]
        if end < 0:
            return
        place = end


def _end(text: str, place: int) -> int:
    """Where a tag ends, `>` between quotes aside; -1 where it never does."""
    while (match := _QUOTE_OR_END.search(text, place)) is not None:
        if match[0] == ">":
            return match.start()
        close = text.find(match[0], match.end())
        if close < 0:
            return -1
        place = close + 1
    return -1
