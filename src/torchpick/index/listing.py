"""An index page → links to wheels, in the forms met in the wild (PEP 503 HTML, PEP 691 JSON). Pure.

No kept library does this light enough: pypi-simple needs beautifulsoup4 and pydantic, mousebender a class for each
version of the API, and what the wheel host really sends (`+` as %2B, no hash, a bare sidecar mark) needs care anyhow.
html.parser took quadratic time on unclosed markup until late 2025; here every character is passed once or twice.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from torchpick.errors import WheelLayoutError
from torchpick.index import wheelnames
from torchpick.index.wheelnames import WheelName
from torchpick.model.noun import Noun

# The page of torch over all variants has some 10,000 links in 5 MB.
MOST_BYTES = 16 << 20
MOST_LINKS = 100_000
# What a JSON page of so many links may have of braces and commas: a value of two letters takes 70 bytes of memory.
_MOST_BRACES, _MOST_COMMAS = 600_000, 2_500_000
_HASH = re.compile(r"sha256[=:]([0-9a-f]{64})")
_HINT = "check that the address is an index of Python packages"


class Link(Noun):
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
    """The wheels of a page that came from this URL, in the page's order; what is not a wheel is skipped."""
    if len(page) > MOST_BYTES:
        raise WheelLayoutError(f"the page has {len(page)} bytes", hint=_HINT)
    text = page.decode("utf-8", "replace")
    wants_json = "json" in content_type.lower() or (text[:1] == "{" and "html" not in content_type.lower())
    found: list[Link] = []
    for link in _of_json(text, url) if wants_json else _of_html(text, url):
        found.append(link)
        if len(found) > MOST_LINKS:
            raise _too_many()
    return tuple(found)


def _too_many() -> WheelLayoutError:
    return WheelLayoutError(f"the page has more than {MOST_LINKS} links", hint=_HINT)


def _link(href: str, base: str, file: str | None = None) -> Link | None:
    """A Link where the href leads to a wheel."""
    try:
        address, fragment = urldefrag(urljoin(base, href.strip()))
        scheme, path = urlsplit(address).scheme, urlsplit(address).path
    except ValueError:  # `http://[` and its like
        return None
    if scheme not in ("http", "https") and (scheme != "file" or not base.startswith("file:")):
        return None  # a page on the web must not lead to files of this computer
    file = file or unquote(path.rpartition("/")[2])
    wheel = wheelnames.parse(file)
    if wheel is None:
        return None
    digest = _HASH.search(fragment.lower())
    return Link(file, address, wheel, sha256=digest[1] if digest else None)


def _of_json(text: str, base: str) -> Iterator[Link]:
    if text.count("{") + text.count("[") > _MOST_BRACES or text.count(",") > _MOST_COMMAS:
        raise _too_many()
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
    """What a page says about the metadata file beside a wheel: true, a hash, or nothing."""
    if value in (None, False, "", "false"):
        return None
    if isinstance(value, dict):
        return _digest(value) or ""
    found = _HASH.fullmatch(str(value).lower())
    return found[1] if found else ""


def _of_html(text: str, base: str) -> Iterator[Link]:
    """The anchors of a page; the first `<base href>` is obeyed, comments and scripts are not read."""
    found = []
    based = False
    for name, tag in anchors_of(text):
        href = tag.get("href")
        if name == "base" and href is not None and not based:
            based = True
            with suppress(ValueError):
                base = urljoin(base, href)
        elif name == "a" and href is not None:
            found.append(tag)
            if len(found) > MOST_LINKS:
                raise _too_many()
    for tag in found:
        link = _link(tag["href"] or "", base)
        if link is not None:
            yield link._replace(
                requires_python=tag.get("data-requires-python"),
                yanked=(tag["data-yanked"] or "") if "data-yanked" in tag else None,
                metadata=_sidecar(_attribute(tag, "data-core-metadata", "data-dist-info-metadata")),
                uploaded=tag.get("data-upload-time"),
            )


def _attribute(tag: Mapping[str, str | None], *names: str) -> str | None:
    """The first of these that the tag has; one without a value counts as yes."""
    return next((tag[name] or "true" for name in names if name in tag), None)


# A comment, a tag to skip (`<!DOCTYPE`, `<?xml`, `</a`), or a tag by its name.
_OPEN = re.compile(r"<(?:(!--)|([!?]|/[A-Za-z])|([A-Za-z][^\s/>]*))")
_COMMENT_END = re.compile(r"--!?>")
# HTML's own grammar: a value in quotes, or all up to a blank or the end of the tag.
_ATTRIBUTE = re.compile(r"[\s/]*(?:([^\s/>][^\s/=>]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"'][^\s>]*))?)?|(>))")
# What stands inside these is text, tags and all (HTML standard, 13.1.2).
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


# Those that indexes use (PEP 503, 592, 658, 700 and 714); a hostile page may have millions of others.
_WANTED = frozenset({
    "href", "data-requires-python", "data-yanked", "data-core-metadata", "data-dist-info-metadata", "data-upload-time",
})  # fmt: skip


def anchors_of(text: str) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    """Name and attributes of each `a` and `base`; an attribute without a value is None."""
    place = 0
    while (match := _OPEN.search(text, place)) is not None:
        comment, skipped, name = match[1], match[2], (match[3] or "").lower()
        if comment:
            end = _COMMENT_END.search(text, match.start() + 2)  # `<!-->` is a comment too
            place = len(text) if end is None else end.end()
            continue
        if skipped:
            close = text.find(">", match.end())
            place = len(text) if close < 0 else close + 1
            continue
        attributes, place = _attributes(text, match.end(), wanted=name in ("a", "base"))
        if place < 0:
            return
        if name in ("a", "base"):
            yield name, attributes
        elif name in _RAW:
            end = _RAW_END[name].search(text, place)
            place = len(text) if end is None else end.start()
        elif name == "plaintext":
            return


def _attributes(text: str, place: int, *, wanted: bool) -> tuple[dict[str, str | None], int]:
    """The attributes of a tag, of which the first of a name counts, and where it ends; -1 where it never does."""
    found: dict[str, str | None] = {}
    while (match := _ATTRIBUTE.match(text, place)) is not None:
        place = match.end()
        if match[5]:
            return found, place
        name = match[1].lower()
        if wanted and name in _WANTED and name not in found:
            value = next((value for value in match.group(2, 3, 4) if value is not None), None)
            found[name] = value if value is None else html.unescape(value)
    return found, -1
