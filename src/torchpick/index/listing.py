"""An index page → links to wheels, in the forms met in the wild (PEP 503 HTML, PEP 691 JSON). Pure.

No kept library does this light enough: pypi-simple needs beautifulsoup4 and pydantic, mousebender a class for each
version of the API, and what the wheel host really sends (`+` as %2B, no hash, a bare sidecar mark) needs care anyhow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from torchpick.errors import WheelLayoutError
from torchpick.index import wheelnames
from torchpick.model.address import Address, check_characters
from torchpick.model.noun import Noun
from torchpick.model.pythons import version_of
from torchpick.model.redaction import redacted

# The page of torch over all variants has some 10,000 links in 5 MB.
MOST_BYTES = 16 << 20
_HASH = re.compile(r"sha256[=:]([0-9a-f]{64})")
_HEX = re.compile(r"[0-9a-f]*")
_UNCHECKED_BY_UV = ("sha224", "sha1")  # uv 0.13.9 takes a file by its address without a look at these
_HASHES = re.compile(r"(sha512|sha384|sha256|sha224|sha1|md5)[=:]([^&#]*)")
# The hashes that pip checks behind an address, the best first, and how many digits each has.
_DIGITS = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
# HTML takes blanks around an address away (its standard, "valid URL potentially surrounded by spaces").
_BLANKS = " \t\n\f\r"
_MOST_SHOWN = 120
_SIDECARS = ("data-core-metadata", "data-dist-info-metadata")
MOST_ENTRIES = 200_000
# HTML is parsed in pieces of so many characters; what has no end yet is looked through again with each of them.
_PIECE, _MOST_TAG = 1 << 16, 1 << 18
_WEB = ("https://", "http://")
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
    url: Address
    wheel: wheelnames.WheelName
    sha256: str | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, which may be empty
    metadata: str | None = None  # sha256 of the sidecar file, or empty where only its presence is told
    uploaded: str | None = None
    other_hash: str | None = None  # where there is no sha256, such as `sha512=…`, which pip and uv check too

    @property
    def with_hash(self) -> Address:
        return self.url.with_hash(f"sha256={self.sha256}" if self.sha256 else self.other_hash)


class PageEntry(NamedTuple):
    """A file as a page lists it, wheel or not; nothing of it is judged yet, and what the page does not say is None."""

    href: str
    base: str  # what the href is relative to
    file: str | None = None
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: str | None = None
    metadata: str | None = None
    uploaded: str | None = None
    other_hash: str | None = None  # where there is no sha256, such as `sha512=…`
    wrong_hash: str = ""  # what is wrong with one


def entries(page: bytes, url: str, content_type: str = "text/html") -> Iterator[PageEntry]:
    """The files of a page that came from this URL, in the page's order."""
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    return _of_json(text, url) if wants_json else _of_html(text, url)


def parse(
    page: bytes, url: str, content_type: str = "text/html", refused: Callable[[str], None] = lambda _: None
) -> tuple[Link, ...]:
    """The wheels of a page that came from this URL, in the page's order; what is not a wheel is skipped.

    So is a wheel whose address or hash is not valid, and `refused` is called with what is wrong with it.
    """
    links = (_link(entry, refused) for entry in entries(page, url, content_type))
    return tuple(link for link in links if link is not None)


def file_of(url: str) -> str:
    """The name of the file at an address."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def joined(base: str, reference: str) -> Address:
    """Where a page at `base` leads by this reference; a ValueError says why no address comes of it."""
    # urljoin would drop line breaks and tabs in silence.
    check_characters(base)
    check_characters(reference)
    return Address(urljoin(base, reference))


class Located(NamedTuple):
    """Where an entry lies, the name of its file, and its hashes."""

    url: Address
    file: str
    sha256: str | None
    other_hash: str | None


def located(entry: PageEntry) -> Located | None:
    """Where it lies; None where a page must not lead there, a ValueError where that is not a valid address or hash."""
    whole = Address(entry.href) if entry.href.startswith(_WEB) else joined(entry.base, entry.href)
    plain, _, fragment = whole.partition("#")
    url = Address(plain) if fragment else whole
    if "[" in url or "]" in url:
        urlsplit(url)  # a ValueError for `http://[` and its like
    file = file_of(url) if entry.file is None else entry.file
    digest, other = _hashes_of(_HASHES.findall(fragment.lower().replace("%23", "#"))) if fragment else (None, None)
    if not url.startswith(_WEB) and not (url.startswith("file:") and entry.base.startswith("file:")):
        return None  # a page on the web must not lead to files of this computer
    digest = entry.sha256 or digest
    return Located(url, file, digest, None if digest else entry.other_hash or other)


def _link(entry: PageEntry, refused: Callable[[str], None]) -> Link | None:
    """A Link where the entry is a wheel; one that is refused would have another address to pip or uv."""
    try:
        place = located(entry)
    except ValueError as error:
        if ".whl" in entry.href.lower():
            refused(f"the address of `{_shown(entry.href)}` is not valid: {error}")
        return None
    wheel = None if place is None else wheelnames.parse(place.file)
    if place is None or wheel is None:
        return None
    if entry.wrong_hash:
        refused(f"`{place.file}` is not listed right: {entry.wrong_hash}")
        return None
    return Link(
        place.file,
        place.url,
        wheel,
        sha256=place.sha256,
        requires_python=entry.requires_python,
        yanked=entry.yanked,
        metadata=entry.metadata,
        uploaded=entry.uploaded,
        other_hash=place.other_hash,
    )


def _hashes_of(pairs: Iterable[tuple[str, str]]) -> tuple[str | None, str | None]:
    """The sha256 among digests by their algorithm, and another hash, such as `sha512=…`, where there is none.

    A ValueError for one that no file can have: it binds pip, and would bind nobody if it were left out.
    """
    found: dict[str, str] = {}
    for kind, digest in pairs:
        if kind not in _DIGITS:
            continue
        if len(digest) != _DIGITS[kind] or not _HEX.fullmatch(digest):
            raise ValueError(f"its {kind} is not one")
        found.setdefault(kind, digest)
    if "sha256" in found:
        return found["sha256"], None
    other = next((f"{kind}={found[kind]}" for kind in _DIGITS if kind in found and kind not in _UNCHECKED_BY_UV), None)
    if found and other is None:
        raise ValueError(f"its only hash is a {next(iter(found))}, which uv does not check")
    return None, other


def _shown(href: str) -> str:
    """The end of an address, which has the file's name, without what a redactor might overlook before it."""
    return redacted(href.rpartition("/")[2].rpartition("@")[2][:_MOST_SHOWN].strip())


def _of_json(text: str, base: str) -> Iterator[PageEntry]:
    def entry(table: dict[str, object]) -> object:
        """As the page is parsed: no more of a file is kept in memory than is asked for."""
        href, yanked, size = table.get("url"), table.get("yanked"), table.get("size")
        if not isinstance(href, str) or "files" in table:
            return table
        digest, other, wrong = None, None, ""
        try:
            digest, other = _hashes_of((kind, str(value).lower()) for kind, value in _items(table.get("hashes")))
        except ValueError as error:
            wrong = str(error)
        return PageEntry(
            href,
            base,
            _text(table.get("filename")),
            digest,
            size if type(size) is int and size >= 0 else None,
            _text(table.get("requires-python")),
            yanked if isinstance(yanked, str) else "" if yanked is True else None,
            _sidecar(table.get("core-metadata", table.get("dist-info-metadata"))),
            _text(table.get("upload-time")),
            other,
            wrong,
        )

    try:
        page = json.loads(text, object_hook=entry)
    except (ValueError, RecursionError) as error:
        raise WheelLayoutError(f"the page is not JSON: {error}", hint=_HINT) from error
    files = page.get("files") if isinstance(page, dict) else None
    if not isinstance(files, list):
        raise WheelLayoutError("the page lists no files", hint=_HINT)
    if len(files) > MOST_ENTRIES:
        raise WheelLayoutError(f"the page has more than {MOST_ENTRIES} files", hint=_HINT)
    return (file for file in files if isinstance(file, PageEntry))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _items(value: object) -> Iterable[tuple[str, object]]:
    return value.items() if isinstance(value, dict) else ()


def _sidecar(value: object) -> str | None:
    """What a page says about the metadata file beside a wheel: true, a hash, or nothing."""
    if value in (None, False, "", "false"):
        return None
    text = f"sha256={value.get('sha256')}" if isinstance(value, dict) else str(value)
    found = _HASH.fullmatch(text.lower())
    return found[1] if found else ""


def _of_html(text: str, base: str) -> Iterator[PageEntry]:
    from torchpick.index.anchors import Anchors

    anchors = Anchors()
    for start in range(0, len(text), _PIECE):
        anchors.feed(text[start : start + _PIECE])
        if len(anchors.rawdata) > _MOST_TAG:
            raise WheelLayoutError(f"the page has a tag of more than {_MOST_TAG} characters", hint=_HINT)
        if len(anchors.found) > MOST_ENTRIES:
            raise WheelLayoutError(f"the page has more than {MOST_ENTRIES} links", hint=_HINT)
    if anchors.base is not None:
        try:
            base = joined(base, anchors.base.strip(_BLANKS))
        except ValueError:
            base = anchors.base  # what is relative to it has no address
    for tag in anchors.found:
        # One without a value counts as yes.
        sidecar = next((tag[name] or "true" for name in _SIDECARS if name in tag), None)
        yield PageEntry(
            (tag["href"] or "").strip(_BLANKS),
            base,
            requires_python=tag.get("data-requires-python"),
            yanked=(tag["data-yanked"] or "") if "data-yanked" in tag else None,
            metadata=_sidecar(sidecar),
            uploaded=tag.get("data-upload-time"),
        )
