"""Known error texts, looked for in a stream: each byte is read once for each pattern, whatever the text is. Pure.

A pattern is text, in any case of letters, over one line or several; `*` stands for anything up to two lines on, and
`{name}` for something to keep.
There is nothing in it that could be tried twice, so no text makes the search slow.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from torchpick.doctor.logs import message
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.fields import read as noun_of
from torchpick.model.noun import Noun

_WILD = re.compile(r"\*|\{([a-z]{1,20})\}")
# A line is looked at so far before and behind the words that were found in it.
_BEFORE, _BEHIND = 2048, 4096
# And so many lines.
_SPAN = 2
_MOST_KEPT = 80
_MOST_SHOWN = 300
_PLAIN = b" \t\r\n,;:()[]'\"`"


class Piece(Noun):
    """A text of a pattern, lower case, and the name of what stands before it; None where that is not kept."""

    text: bytes
    keeps: str | None = None


class Signature(Noun):
    """One known error; docs/doctor.md says what the fields mean. `follows`: ids of the errors it may come from."""

    id: str
    title: str
    patterns: tuple[str, ...]
    meaning: str
    causes: tuple[str, ...]
    cures: tuple[str, ...]
    no_use: tuple[tuple[str, str], ...]
    findings: tuple[str, ...]
    links: tuple[str, ...]
    install: bool
    follows: tuple[str, ...]


class LogLine(Noun):
    """A line of the text, and the message in it."""

    number: int
    text: bytes


class Stretch(Noun):
    """Lines as one text, in its own letters and in lower case, and where each of them begins."""

    text: bytes
    lower: bytes
    lines: tuple[LogLine, ...]
    starts: tuple[int, ...]


class Match(Noun):
    """Where a signature was first seen, the line, and what its pattern keeps."""

    signature: Signature
    line: int
    text: str
    kept: Mapping[str, str] = {}


def read(fields: Fields) -> tuple[Signature, ...]:
    """compat/errors.json as signatures; ShapeError where it is not of its form."""
    found = [_signature(row) for row in fields.objects("signatures")]
    ids = [each.id for each in found]
    if len(set(ids)) != len(ids):
        raise ShapeError("signatures", "names an id twice")
    return tuple(found)


def _signature(row: Fields) -> Signature:
    row.only(*Signature._fields)
    patterns = row.texts("patterns")
    if not patterns:
        raise row.fail("patterns", "is empty")
    for place, pattern in enumerate(patterns):
        parts = pieces(pattern) if pattern.isascii() else ()
        if not parts or max(len(part.text) for part in parts) < 6:
            raise ShapeError(f"{row.at('patterns')}[{place}]", "needs a text of six or more ASCII characters")
    no_use = tuple((each.text("what"), each.text("why")) for each in row.objects("no_use"))
    return noun_of(Signature, row, most=None, no_use=no_use)


def pieces(pattern: str) -> tuple[Piece, ...]:
    """The texts of a pattern in their order; a last `{name}` has an empty text."""
    found = []
    start = 0
    keeps = None
    for match in _WILD.finditer(pattern):
        if text := pattern[start : match.start()]:
            found.append(Piece(text.lower().encode(), keeps))
            keeps = None
        keeps = match[1] or keeps
        start = match.end()
    if text := pattern[start:]:
        found.append(Piece(text.lower().encode(), keeps))
    elif keeps is not None:
        found.append(Piece(b"", keeps))
    return tuple(found)


def found_in(line: bytes, pattern: tuple[Piece, ...]) -> dict[str, str] | None:
    """What the pattern keeps of a line; None where the line does not have its texts in their order."""
    lower = line.lower()
    kept = {}
    at = 0
    for place, piece in enumerate(pattern):
        where = lower.find(piece.text, at) if piece.text else at
        if where < 0:
            return None
        if piece.keeps is not None and place:
            end = where if piece.text else _word_end(line, at)
            kept[piece.keeps] = line[at : min(end, at + _MOST_KEPT)].decode("utf-8", "replace").strip()
        at = where + len(piece.text)
    return kept


def _word_end(line: bytes, start: int) -> int:
    end = start
    while end < len(line) and line[end] not in _PLAIN:
        end += 1
    return end


class Search:
    """Feed it a text in chunks; it remembers where each signature was first seen.

    Lines are joined to one stretch of text with single blanks, so a pattern may span several of them.
    """

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._wanted = {signature.id: signature for signature in signatures}
        self._patterns = [
            (max((piece.text for piece in parts), key=len), parts, signature.id)
            for signature in self._wanted.values()
            for parts in map(pieces, signature.patterns)
        ]
        self._found: dict[str, Match] = {}
        self._rest = b""
        self._line = 1
        # The end of what was looked through: a pattern may begin there and end in what comes.
        self._last: list[LogLine] = []

    def feed(self, chunk: bytes) -> None:
        """Look through whole lines; what is left of the last one waits, up to a bound."""
        data = self._rest + chunk
        end = data.rfind(b"\n") + 1
        if not end and len(data) <= _BEHIND:
            self._rest = data
            return
        # A line without an end is cut, with as much carried over as a pattern may span.
        cut = end or len(data) - _BEHIND // 2
        self._look(data[: end or len(data)])
        self._line += data.count(b"\n", 0, cut)
        self._rest = data[cut:]

    def matches(self) -> tuple[Match, ...]:
        """Everything seen: causes before what follows from them, else in the order of the text. Ask at its end."""
        self._look(self._rest)
        return tuple(
            sorted(self._found.values(), key=lambda match: (self._follows(match), match.line, match.signature.id))
        )

    def _follows(self, match: Match) -> bool:
        """Whether another error of the text is what this one comes from."""
        return any(cause in self._found for cause in match.signature.follows)

    def _look(self, data: bytes) -> None:
        if not data:
            return
        new = [
            LogLine(number, text)
            for number, line in enumerate(data.split(b"\n"), self._line)
            if (text := message(line))
        ]
        lines = [*self._last, *new]
        text = b" ".join(line.text for line in lines)
        lower = text.lower()
        starts = []
        at = 0
        for line in lines:
            starts.append(at)
            at += len(line.text) + 1
        stretch = Stretch(text, lower, tuple(lines), tuple(starts))
        for anchor, parts, name in self._patterns:
            if name not in self._found and (match := self._first(stretch, anchor, parts, name)) is not None:
                self._found[name] = match
        self._patterns = [pattern for pattern in self._patterns if pattern[2] not in self._found]
        self._last = [line for line in lines[-_SPAN:] if len(line.text) <= _BEHIND]

    def _first(self, stretch: Stretch, anchor: bytes, parts: tuple[Piece, ...], name: str) -> Match | None:
        at = stretch.lower.find(anchor)
        while at >= 0:
            first = bisect_right(stretch.starts, at) - 1
            last = bisect_right(stretch.starts, at + len(anchor) - 1) - 1
            start = max(stretch.starts[max(0, first - _SPAN)], at - _BEFORE)
            after = last + 1 + _SPAN
            end = min(at + _BEHIND, stretch.starts[after] if after < len(stretch.starts) else len(stretch.text))
            kept = found_in(stretch.text[start:end], parts)
            if kept is not None:
                line = stretch.lines[first]
                return Match(
                    self._wanted[name], line.number, _around(line.text.decode("utf-8", "replace"), anchor), kept
                )
            # Whatever else lies in this line was looked at with it.
            ahead = stretch.starts[last + 1] if last + 1 < len(stretch.starts) else len(stretch.text)
            at = stretch.lower.find(anchor, max(min(ahead, end), at + 1))
        return None


def _around(line: str, anchor: bytes) -> str:
    """The part of a long line that has the words."""
    if len(line) <= _MOST_SHOWN:
        return line
    at = max(0, line.lower().find(anchor.decode()) - _MOST_SHOWN // 3)
    return ("…" if at else "") + line[at : at + _MOST_SHOWN].strip() + "…"
