"""Pages of an index, on the web or in a folder → its files, in the forms of the wild (PEP 503 HTML, PEP 691 JSON)."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from torchpick.environment import requirementfiles, world
from torchpick.errors import IntegrityError, NetworkError, UsageError, WheelError, WheelLayoutError
from torchpick.index import wheelnames
from torchpick.model.address import Address, check_characters, redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client


# The attributes of a link that say something of its file.
_SIDECARS = ("data-core-metadata", "data-dist-info-metadata")
_KEPT = ("href", "data-requires-python", "data-yanked", "data-upload-time", *_SIDECARS)


class Anchors(HTMLParser):
    """What those with an href say, and what the first `<base href>` says."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.tags: list[dict[str, str | None]] = []

    def parse_marked_section(self, i: int, report: bool = True) -> int:  # noqa: ARG002 # as it is there
        """Such as `<![if]>`, which is a comment in HTML; Python's own raises where no name that it knows follows."""
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value for name, value in reversed(attrs) if name in _KEPT}  # the first of a name counts
        href = attributes.get("href")
        if href is None:
            return
        if tag == "a":
            self.tags.append(attributes)
        elif tag == "base" and self.base is None:
            self.base = href


ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.8"
_SUFFIXES = (".whl", ".tar.gz", ".zip")
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
MOST_ENTRIES = 200_000
# A link has some four `<`, with its own end and a line break. In JSON no file has a `{` or `[` each so many characters.
_MOST_MARKS = 5 * MOST_ENTRIES
_FEWEST_BETWEEN = 8
# HTML is parsed in pieces of so many characters; what has no end yet is looked through again with each of them.
_PIECE, _MOST_TAG = 1 << 14, 1 << 16
# No server takes a longer address.
_MOST_ADDRESS = 1 << 13
# For all of a page, what is made of its links included; an honest one of the largest size takes a third of it.
_MOST_S = 30.0
# `int` refuses to read more digits.
_REFERENCE = re.compile(r"&#[0-9]{4000,}")
_WEB = ("https://", "http://")
_HINT = "check that the address is an index of Python packages"


class Link(NamedTuple):
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
    until = time.thread_time() + _MOST_S
    for entry in _of_json(text, url) if wants_json else _of_html(text, url, until):
        _check_time(until)
        yield entry


def _check_time(until: float) -> None:
    if time.thread_time() > until:
        raise WheelLayoutError(f"the page takes longer to read than {_MOST_S:.0f} s", hint=_HINT)


def _check_marks(text: str, marks: str, most: int) -> None:
    """Each costs time or memory of its own, whatever it begins."""
    if sum(map(text.count, marks)) > most:
        raise WheelLayoutError(f"the page has more than {most} of `{marks}`", hint=_HINT)


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
    if max(len(base), len(reference)) > _MOST_ADDRESS:
        raise ValueError(f"it has more than {_MOST_ADDRESS} characters")
    # urljoin would drop line breaks and tabs in silence.
    check_characters(base)
    check_characters(reference)
    return Address(urljoin(base, reference))


def located(entry: PageEntry) -> tuple[Address, str, str | None, str | None] | None:
    """Where an entry lies, its file's name, its sha256, and another hash; None where a page must not lead there.

    A ValueError says that this is not a valid address or hash.
    """
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
    return url, file, digest, None if digest else entry.other_hash or other


def _link(entry: PageEntry, refused: Callable[[str], None]) -> Link | None:
    """A Link where the entry is a wheel; one that is refused would have another address to pip or uv."""
    try:
        location = located(entry)
    except ValueError as error:
        if ".whl" in entry.href.lower():
            # The end of an address has the file's name; a redactor might overlook what is before it.
            name = redacted(entry.href.rpartition("/")[2].rpartition("@")[2][:_MOST_SHOWN].strip())
            refused(f"the address of `{name}` is not valid: {error}")
        return None
    if location is None or (wheel := wheelnames.parse(location[1])) is None:
        return None
    url, file, sha256, other_hash = location
    if entry.wrong_hash:
        refused(f"`{file}` is not listed right: {entry.wrong_hash}")
        return None
    facts = entry.requires_python, entry.yanked, entry.metadata, entry.uploaded
    return Link(file, url, wheel, sha256, *facts, other_hash)


def _hashes_of(pairs: Iterable[tuple[str, str]]) -> tuple[str | None, str | None]:
    """The sha256 among digests by their algorithm, and another hash, such as `sha512=…`, where there is none.

    A ValueError for one that no file can have: it binds pip, and would bind nobody if it were left out.
    """
    hashes: dict[str, str] = {}
    for kind, digest in pairs:
        if kind not in _DIGITS:
            continue
        if len(digest) != _DIGITS[kind] or not _HEX.fullmatch(digest):
            raise ValueError(f"its {kind} is not one")
        hashes.setdefault(kind, digest)
    if "sha256" in hashes:
        return hashes["sha256"], None
    best = next((kind for kind in _DIGITS if kind in hashes and kind not in _UNCHECKED_BY_UV), None)
    if hashes and best is None:
        raise ValueError(f"its only hash is a {next(iter(hashes))}, which uv does not check")
    return None, best and f"{best}={hashes[best]}"


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

    _check_marks(text, "{[", len(text) // _FEWEST_BETWEEN + _FEWEST_BETWEEN)
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
    match = _HASH.fullmatch(text.lower())
    return match[1] if match else ""


def _of_html(text: str, base: str, until: float) -> Iterator[PageEntry]:
    _check_marks(text, "<", _MOST_MARKS)
    text = _REFERENCE.sub("&#xfffd", text)  # what HTML has for one that is no character
    anchors = Anchors()
    for start in range(0, len(text), _PIECE):
        _check_time(until)
        anchors.feed(text[start : start + _PIECE])
        if len(anchors.rawdata) > _MOST_TAG:
            raise WheelLayoutError(f"the page has a tag of more than {_MOST_TAG} characters", hint=_HINT)
        if len(anchors.tags) > MOST_ENTRIES:
            raise WheelLayoutError(f"the page has more than {MOST_ENTRIES} links", hint=_HINT)
    if anchors.base is not None:
        try:
            base = joined(base, anchors.base.strip(_BLANKS))
        except ValueError:
            base = anchors.base  # what is relative to it has no address
    for tag in anchors.tags:
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
        return parse(answer.body, answer.url, answer.headers.get("content-type", ""), refused)
    except WheelError as error:
        raise type(error)(f"{redacted(url)}: {error.message}", hint=error.hint) from error


def content(url: str, client: Client | None) -> bytes:
    """A small file of an index, or without a client of a folder."""
    return _bytes(local(url)) if client is None else client.get(url).body


def local(url: str) -> Path:
    """The path of a file: address."""
    return Path(requirementfiles.located(url))


def folder(url: str, refused: Callable[[str], None] = lambda _: None) -> tuple[Link, ...] | None:
    """A page in a folder: its index.html, else the wheels that lie there."""
    page = page_in_folder(url)
    return None if page is None else parse(*page, refused=refused)


def page_in_folder(url: str) -> tuple[bytes, str] | None:
    """A folder's page, made of the files that lie there where it has none, and what its links are relative to."""
    path = local(url)
    try:
        is_folder = path.is_dir()
        page = path / "index.html" if is_folder else path
        if page.exists():
            body = _bytes(page)
        elif is_folder:
            files = sorted(file.name for file in path.iterdir() if file.name.endswith(_SUFFIXES))
            body = "".join(f'<a href="{quote(name)}">{name}</a>' for name in files).encode()
        else:
            return None
    except OSError as error:
        raise WheelError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    return body, url if not is_folder or url.endswith("/") else url + "/"


def _bytes(path: Path) -> bytes:
    """A file's content; a pipe or a device, which may have no end, is none."""
    try:
        return world.content(str(path), MOST_BYTES)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read: {error.strerror}", hint="check `--index-base`") from error


def fetcher(environ: Mapping[str, str], *, offline: bool) -> Callable[[str], bytes]:
    """What `read_requirements` takes to read such a file; it raises where the network may not be used."""

    def fetch(url: str) -> bytes:
        if offline:
            raise UsageError(f"{redacted(url)} is not on this computer, and `--offline` is given", hint="download it")
        from torchpick.index.client import Client

        with Client(environ=environ) as client:
            return client.get(url).body

    return fetch
