"""An index page → links to wheels, in the forms met in the wild (PEP 503 HTML, PEP 691 JSON). Pure.

No kept library does this light enough: pypi-simple needs beautifulsoup4 and pydantic, mousebender a class for each
version of the API, and what the wheel host really sends (`+` as %2B, no hash, a bare sidecar mark) needs care anyhow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
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


def parse(
    page: bytes, url: str, content_type: str = "text/html", refused: Callable[[str], None] = lambda _: None
) -> tuple[Link, ...]:
    """The wheels of a page that came from this URL, in the page's order; what is not a wheel is skipped.

    So is a wheel whose address or hash is not valid, and `refused` is called with what is wrong with it.
    """
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    return tuple(_of_json(text, url, refused) if wants_json else _of_html(text, url, refused))


def file_of(url: str) -> str:
    """The name of the file at an address."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def joined(base: str, reference: str) -> Address:
    """Where a page at `base` leads by this reference; a ValueError says why no address comes of it."""
    # urljoin would drop line breaks and tabs in silence.
    check_characters(base)
    check_characters(reference)
    return Address(urljoin(base, reference))


def _link(href: str, base: str, file: str | None, refused: Callable[[str], None]) -> Link | None:
    """A Link where the href leads to a wheel; one that is refused would have another address to pip or uv."""
    try:
        url, _, fragment = joined(base, href).partition("#")
        address = Address(url)
        scheme, file = urlsplit(url).scheme, file or file_of(url)
        digest, other = _hashes_of(_HASHES.findall(fragment.lower().replace("%23", "#")))
    except ValueError as error:
        if ".whl" in href.lower():
            refused(f"the address of `{_shown(href)}` is not valid: {error}")
        return None
    if scheme not in ("http", "https") and (scheme != "file" or not base.startswith("file:")):
        return None  # a page on the web must not lead to files of this computer
    wheel = wheelnames.parse(file)
    return None if wheel is None else Link(file, address, wheel, sha256=digest, other_hash=other)


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


def _of_json(text: str, base: str, refused: Callable[[str], None]) -> Iterator[Link]:
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
        link = _link(entry["url"], base, _text(entry.get("filename")), refused)
        if link is None:
            continue
        hashes = entry.get("hashes")
        try:
            digest, other = _hashes_of((kind, str(value).lower()) for kind, value in _items(hashes))
        except ValueError as error:
            refused(f"`{link.file}` is not listed right: {error}")
            continue
        yanked = entry.get("yanked")
        yield link._replace(
            sha256=digest or link.sha256,
            other_hash=None if digest or link.sha256 else other or link.other_hash,
            requires_python=_text(entry.get("requires-python")),
            yanked=yanked if isinstance(yanked, str) else "" if yanked is True else None,
            metadata=_sidecar(entry.get("core-metadata", entry.get("dist-info-metadata"))),
            uploaded=_text(entry.get("upload-time")),
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _items(value: object) -> Iterable[tuple[str, object]]:
    return value.items() if isinstance(value, dict) else ()


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
            try:
                self.base = joined(self.base, href.strip(_BLANKS))
            except ValueError:
                self.base = href  # what is relative to it has no address
        elif tag == "a" and href is not None:
            self.found.append(attributes)


def _of_html(text: str, base: str, refused: Callable[[str], None]) -> Iterator[Link]:
    anchors = _Anchors(base)
    anchors.feed(text)
    for tag in anchors.found:
        link = _link((tag["href"] or "").strip(_BLANKS), anchors.base, None, refused)
        if link is not None:
            # One without a value counts as yes.
            sidecar = next((tag[name] or "true" for name in _SIDECARS if name in tag), None)
            yield link._replace(
                requires_python=tag.get("data-requires-python"),
                yanked=(tag["data-yanked"] or "") if "data-yanked" in tag else None,
                metadata=_sidecar(sidecar),
                uploaded=tag.get("data-upload-time"),
            )
