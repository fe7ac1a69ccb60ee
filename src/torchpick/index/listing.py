"""An index page → links to wheels, in the forms met in the wild (PEP 503 HTML, PEP 691 JSON). Pure.

No kept library does this light enough: pypi-simple needs beautifulsoup4 and pydantic, mousebender a class for each
version of the API, and what the wheel host really sends (`+` as %2B, no hash, a bare sidecar mark) needs care anyhow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from torchpick.errors import WheelLayoutError
from torchpick.index import wheelnames
from torchpick.model.noun import Noun
from torchpick.model.pythons import version_of

# The page of torch over all variants has some 10,000 links in 5 MB.
MOST_BYTES = 16 << 20
_HASH = re.compile(r"sha256[=:]([0-9a-f]{64})")
_SIDECARS = ("data-core-metadata", "data-dist-info-metadata")
_HINT = "check that the address is an index of Python packages"


class WheelTarget(Noun):
    """What the wheel is for; None is what the interpreter itself is."""

    python: str | None = None  # what `--python` takes: a version, or an interpreter
    platform: str | None = None  # one of the contract's names
    glibc: str | None = None

    @property
    def program(self) -> str | None:
        """The interpreter; None where only a version is given."""
        return None if version_of(self.python) is not None else self.python


class Link(Noun):
    """One wheel on a page; what the page does not say is None."""

    file: str
    url: str
    wheel: wheelnames.WheelName
    sha256: str | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, which may be empty
    metadata: str | None = None  # sha256 of the sidecar file, or empty where only its presence is told
    uploaded: str | None = None

    @property
    def with_hash(self) -> str:
        return f"{self.url}#sha256={self.sha256}" if self.sha256 else self.url


def parse(page: bytes, url: str, content_type: str = "text/html") -> tuple[Link, ...]:
    """The wheels of a page that came from this URL, in the page's order; what is not a wheel is skipped."""
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    return tuple(_of_json(text, url) if wants_json else _of_html(text, url))


def file_of(url: str) -> str:
    """The name of the file at an address."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _link(href: str, base: str, file: str | None = None) -> Link | None:
    """A Link where the href leads to a wheel."""
    try:
        address, fragment = urldefrag(urljoin(base, href.strip()))
        scheme, file = urlsplit(address).scheme, file or file_of(address)
    except ValueError:  # `http://[` and its like
        return None
    if scheme not in ("http", "https") and (scheme != "file" or not base.startswith("file:")):
        return None  # a page on the web must not lead to files of this computer
    wheel = wheelnames.parse(file)
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
        yanked = entry.get("yanked")
        yield link._replace(
            sha256=_digest(hashes) or link.sha256,
            requires_python=_text(entry.get("requires-python")),
            yanked=yanked if isinstance(yanked, str) else "" if yanked is True else None,
            metadata=_sidecar(entry.get("core-metadata", entry.get("dist-info-metadata"))),
            uploaded=_text(entry.get("upload-time")),
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _digest(hashes: object) -> str | None:
    found = _HASH.fullmatch(f"sha256={hashes.get('sha256')}".lower()) if isinstance(hashes, dict) else None
    return found[1] if found else None


def _sidecar(value: object) -> str | None:
    """What a page says about the metadata file beside a wheel: true, a hash, or nothing."""
    if value in (None, False, "", "false"):
        return None
    if isinstance(value, dict):
        return _digest(value) or ""
    found = _HASH.fullmatch(str(value).lower())
    return found[1] if found else ""


class _Anchors(HTMLParser):
    """The attributes of the anchors of a page; the first `<base href>` is obeyed."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base, self.found = base, list[dict[str, str | None]]()
        self._based = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(reversed(attrs))  # the first of a name counts
        href = attributes.get("href")
        if tag == "base" and href is not None and not self._based:
            self._based = True
            with suppress(ValueError):
                self.base = urljoin(self.base, href)
        elif tag == "a" and href is not None:
            self.found.append(attributes)


def _of_html(text: str, base: str) -> Iterator[Link]:
    anchors = _Anchors(base)
    anchors.feed(text)
    for tag in anchors.found:
        link = _link(tag["href"] or "", anchors.base)
        if link is not None:
            # One without a value counts as yes.
            sidecar = next((tag[name] or "true" for name in _SIDECARS if name in tag), None)
            yield link._replace(
                requires_python=tag.get("data-requires-python"),
                yanked=(tag["data-yanked"] or "") if "data-yanked" in tag else None,
                metadata=_sidecar(sidecar),
                uploaded=tag.get("data-upload-time"),
            )
