"""The anchors of an HTML page, read as a browser and pip's parser read them. Pure.

html.parser took quadratic time on unclosed markup until late 2025; here every character is passed once or twice.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

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


def read(text: str) -> Iterator[tuple[str, Mapping[str, str | None]]]:
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
