"""Pages of an index, on the web or in a folder → its files, in the forms of the wild (PEP 503 HTML, PEP 691 JSON)."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from torchpick.environment import requirementfiles, world
from torchpick.errors import IntegrityError, WheelError, WheelLayoutError
from torchpick.index import wheelnames
from torchpick.index.wheelnames import FileName
from torchpick.model.address import Address, check_characters, is_sha256, redacted

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
_HEX = re.compile(r"[0-9a-f]+")
_UPLOADED = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00:00)?)?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_TEXT = 512
# The hashes that pip checks behind an address, each with its digits: the one that the table knows of files, then the
# best first. The last two have none that count, as uv 0.13.9 takes a file by its address without a look at them.
_DIGITS = {"sha256": 64, "sha512": 128, "sha384": 96, "md5": 32, "sha224": 0, "sha1": 0}
_HASH = re.compile(rf"({'|'.join(_DIGITS)})[=:]([^&#]*)")
# HTML takes blanks around an address away (its standard, "valid URL potentially surrounded by spaces").
_BLANKS = " \t\n\f\r"
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


class ProjectFile(NamedTuple):
    """A wheel or an sdist on an index; what its page does not say is None."""

    file: str
    url: Address
    name: FileName
    hash: str | None = None  # such as `sha256=…`, which pip and uv check
    size: int | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, which may be empty
    metadata: str | None = None  # sha256 of the METADATA beside it, or empty where only its presence is told
    uploaded: str | None = None  # ISO 8601, in UTC
    index_url: str = ""  # which of the user's indexes and link pages it lies on

    @property
    def project(self) -> str:
        return self.name.project

    @property
    def version(self) -> str:
        """As PEP 440 spells it."""
        return wheelnames.normal_version(self.name.version)

    @property
    def sha256(self) -> str | None:
        kind, _, digest = (self.hash or "").partition("=")
        return digest if kind == "sha256" else None

    @property
    def with_hash(self) -> Address:
        return self.url.with_hash(self.hash)


def files(page: bytes, url: str, content_type: str = "text/html", index_url: str = "") -> tuple[ProjectFile, ...]:
    """The files of a page that came from this URL, in the page's order.

    What is neither wheel nor sdist is skipped, and so is a file whose address or hash is not valid.
    """
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    until = time.thread_time() + _MOST_S
    located = partial(locate, index_url=index_url)
    listed = (_of_json if wants_json else _of_html)(text, url, until, located)
    return tuple(file for file in listed if isinstance(file, ProjectFile))


def _check_time(until: float) -> None:
    if time.thread_time() > until:
        raise WheelLayoutError(f"the page takes longer to read than {_MOST_S:.0f} s", hint=_HINT)


def _check_marks(text: str, marks: str, most: int) -> None:
    """Each costs time or memory of its own, whatever it begins."""
    if sum(map(text.count, marks)) > most:
        raise WheelLayoutError(f"the page has more than {most} of `{marks}`", hint=_HINT)


def file_of(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _joined(base: str, reference: str) -> Address:
    """Where a page at `base` leads by this reference; a ValueError says why no address comes of it."""
    base = "" if reference.startswith(_WEB) else base
    if max(len(base), len(reference)) > _MOST_ADDRESS:
        raise ValueError(f"it has more than {_MOST_ADDRESS} characters")
    # urljoin would drop line breaks and tabs in silence.
    check_characters(base)
    check_characters(reference)
    return Address(urljoin(base, reference))


def locate(  # noqa: PLR0913 # what a page or a record says of a file
    href: str,
    base: str,
    file: str | None = None,
    size: int | None = None,
    requires_python: str | None = None,
    yanked: str | None = None,
    metadata: str | None = None,
    uploaded: str | None = None,
    *,
    hashes: Iterable[tuple[str, str]] = (),
    index_url: str = "",
) -> ProjectFile | None:
    """The file that a reference on a page at `base` leads to; None where it is neither wheel nor sdist, or not valid.

    Every text of a page and of a record is checked here, and only here. What is of another type may raise any error.
    """
    try:
        reference, _, fragment = href.partition("#")
        check_characters(fragment)
        url = _joined(base, reference)
        if "[" in url or "]" in url:
            urlsplit(url)  # a ValueError for `http://[` and its like
        file = file_of(url) if file is None else file
        name = wheelnames.parse_file(file)
        # A page on the web must not lead to files of this computer.
        if name is None or not (url.startswith(_WEB) or (url.startswith("file:") and base.startswith("file:"))):
            return None
        hash_ = _best_hash((*hashes, *_HASH.findall(fragment.lower().replace("%23", "#"))))
    except ValueError:
        return None
    return ProjectFile(
        file,
        url,
        name,
        hash_,
        size if type(size) is int and size >= 0 else None,
        _plain(requires_python),
        _plain(yanked),
        metadata if metadata is None or is_sha256(metadata) else "",
        uploaded if uploaded and _UPLOADED.fullmatch(uploaded) else None,
        index_url,
    )


def _plain(text: str | None) -> str | None:
    """One text for all the files of a page that say the same."""
    if text is None:
        return None
    text = text[:_MOST_TEXT]
    return sys.intern(text if text.isprintable() else _CONTROL.sub(" ", text))


def _best_hash(pairs: Iterable[tuple[str, str]]) -> str | None:
    """The best of digests by their algorithm; a ValueError for one that not both pip and uv would check."""
    hashes = dict(reversed([*pairs]))  # the first of a kind counts
    kind = next((kind for kind in _DIGITS if kind in hashes), None)
    if kind is not None and not (len(hashes[kind]) == _DIGITS[kind] and _HEX.fullmatch(hashes[kind])):
        raise ValueError(f"its {kind} is not one")
    return kind and f"{kind}={hashes[kind]}"


def _of_json(text: str, base: str, until: float, located: Callable[..., ProjectFile | None]) -> Iterable[object]:
    def file(table: dict[str, object]) -> object:
        """As the page is parsed: no more of a file is kept in memory than is asked for."""
        href, yanked, hashes = table.get("url"), table.get("yanked"), table.get("hashes")
        if not isinstance(href, str) or "files" in table:
            return table
        _check_time(until)
        return located(
            href,
            base,
            file=_text(table.get("filename")),
            size=table.get("size"),
            requires_python=_text(table.get("requires-python")),
            yanked=yanked if isinstance(yanked, str) else "" if yanked is True else None,
            metadata=_sidecar(table.get("core-metadata", table.get("dist-info-metadata"))),
            uploaded=_text(table.get("upload-time")),
            hashes=[(kind, str(value).lower()) for kind, value in hashes.items()] if isinstance(hashes, dict) else (),
        )

    _check_marks(text, "{[", len(text) // _FEWEST_BETWEEN + _FEWEST_BETWEEN)
    try:
        page = json.loads(text, object_hook=file)
    except (ValueError, RecursionError) as error:
        raise WheelLayoutError(f"the page is not JSON: {error}", hint=_HINT) from error
    files = page.get("files") if isinstance(page, dict) else None
    if not isinstance(files, list):
        raise WheelLayoutError("the page lists no files", hint=_HINT)
    if len(files) > MOST_ENTRIES:
        raise WheelLayoutError(f"the page has more than {MOST_ENTRIES} files", hint=_HINT)
    return files


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sidecar(value: object) -> str | None:
    """What a page says about the metadata file beside a wheel: true, a hash, or nothing."""
    if value in (None, False, "", "false"):
        return None
    digest = value.get("sha256") if isinstance(value, dict) else str(value)
    return str(digest).lower().removeprefix("sha256").lstrip("=:")


def _of_html(text: str, base: str, until: float, located: Callable[..., ProjectFile | None]) -> Iterable[object]:
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
            base = _joined(base, anchors.base.strip(_BLANKS))
        except ValueError:
            base = anchors.base  # what is relative to it has no address
    for tag in anchors.tags:
        _check_time(until)
        # One without a value counts as yes.
        sidecar = next((tag[name] or "true" for name in _SIDECARS if name in tag), None)
        yield located(
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


@contextmanager
def named(url: str) -> Iterator[None]:
    """An error about what lies there names it."""
    try:
        yield
    except WheelError as error:
        name = redacted(url)
        if name in error.message:
            raise
        raise type(error)(f"{name}: {error.message}", hint=error.hint, code=error.code) from error


def page_in_folder(url: str) -> tuple[bytes, str] | None:
    """A folder's page, made of the files that lie there where it has none, and what its links are relative to."""
    path = Path(requirementfiles.located(url))
    try:
        is_folder = path.is_dir()
        page = path / "index.html" if is_folder else path
        if page.exists():
            body = world.content(str(page), MOST_BYTES)
        elif is_folder:
            files = sorted(file.name for file in path.iterdir() if file.name.endswith(_SUFFIXES))
            body = "".join(f'<a href="{quote(name)}">{name}</a>' for name in files).encode()
        else:
            return None
    except OSError as error:
        raise WheelError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    return body, url if not is_folder or url.endswith("/") else url + "/"
