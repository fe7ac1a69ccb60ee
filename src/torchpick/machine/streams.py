"""JSON values of a stream as they come: one a line, with a launcher's prefix or without, or spread over lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO

from torchpick.model.noun import Noun

# One value: `kubectl get nodes -o json` is 10 to 30 kB a node, so this is a cluster of several thousand.
MOST_BYTES = 128 << 20
# `srun -l` writes `3: {`, pdsh `node3: {`.
_PREFIX = re.compile(r"([^\s{}\[\]\",:]{1,255}): ?(?=[\[{])")
_SHOWN = 60


class ListedValue(Noun):
    """One JSON value of the input, the line it begins on, and the host that its prefix names."""

    line: int
    value: object
    host: str | None = None


class UnreadLine(Noun):
    """A line, or lines, that hold no JSON value."""

    line: int
    why: str
    host: str | None = None


def values(stream: IO[bytes]) -> Iterator[ListedValue | UnreadLine]:
    """Every value of the stream, and in its place whatever is not one. No more than one value is kept in memory.

    Whoever spreads a value over lines indents what is inside, so it goes on until a line begins with a bracket.
    """
    begun: list[str] = []
    cut = UnreadLine(0, "not JSON: cut in the middle")
    for number, line in enumerate(_texts(stream), start=1):
        if line is None:
            yield UnreadLine(number, "not UTF-8 text")
        elif begun and line[0] in " \t\r\n]}":
            begun.append(line)
            if line[0] in "]}":
                yield _value(cut.line, cut.host, "".join(begun).strip())
                begun = []
        elif line.strip():
            if begun:
                yield cut
                begun = []
            text = line.strip()
            match = _PREFIX.match(text)
            host, text = (match[1], text[match.end() :]) if match else (None, text)
            found = _value(number, host, text)
            if isinstance(found, UnreadLine) and text[0] in "[{":
                begun, cut = [text], cut._replace(line=number, host=host)
            else:
                yield found
    if begun:
        yield cut


def _value(number: int, host: str | None, text: str) -> ListedValue | UnreadLine:
    """Chatter of one word is no value, nor is a number of thousands of digits, nor hostile depth."""
    try:
        return ListedValue(number, json.loads(text), host)
    except json.JSONDecodeError as error:
        return UnreadLine(number, f"not JSON: {error.msg if text[:1] in '[{' else text.strip()[:_SHOWN]}", host)
    except (ValueError, RecursionError):
        return UnreadLine(number, "not JSON: a value that does not describe a machine", host)


def _texts(stream: IO[bytes]) -> Iterator[str | None]:
    """The lines, also where PowerShell's `>` wrote UTF-16 or a byte order mark; None for one that is not text."""
    first = stream.readline(MOST_BYTES)
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            yield from (first + stream.read(MOST_BYTES)).decode("utf-16").splitlines(keepends=True)
        except UnicodeError:
            yield None
        return
    raw = first.removeprefix(b"\xef\xbb\xbf")
    while raw:
        try:
            yield raw.decode()
        except UnicodeError:
            yield None
        raw = stream.readline(MOST_BYTES)
