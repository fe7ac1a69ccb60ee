"""JSON values of a stream as they come: one a line, with a launcher's prefix or without, or spread over lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import StringIO
from typing import IO

from torchpick.model.noun import Noun

# One value: `kubectl get nodes -o json` is 10 to 30 kB a node, so this is a cluster of several thousand.
MOST_BYTES = 128 << 20
# `srun -l` writes `3: {`, pdsh `node3: {`.
_PREFIX = re.compile(r"\A([^\s{}\[\]\",:]{1,255}): ?(?=[\[{])")
_SHOWN = 60
# One that is not closed goes to the end of its line: each of its escaped quotes would be tried as a beginning.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?')
_NO_TEXT = "not UTF-8 text"


class StreamValue(Noun):
    """A JSON value of the input, or why there is none: the line it begins on, and the host that its prefix names."""

    line: int
    host: str | None
    text: str
    value: object = None
    why: str = ""


def values(stream: IO[bytes]) -> Iterator[StreamValue]:
    """Every value of the stream, and in its place whatever is not one.

    One that is spread over lines goes on until its brackets are closed. Where that is no value, it was cut: then the
    lines after it are read one by one, apart from those that are indented or close it.
    """
    lines = ((number, line) for number, line in enumerate(_texts(stream), start=1) if line.strip())
    for number, line in lines:
        part = _part(number, line)
        rest, opened = [], _opened(part.text) if part.why and part.text[0] in "[{" else 0
        while opened > 0 and (more := next(lines, None)):
            rest.append(more)
            opened += _opened(more[1])
        if rest:
            part = _read(number, part.host, "\n".join([part.text, *(text for _, text in rest)]))
        yield part
        yield from (_part(*more) for more in rest if part.why and more[1][0] not in " \t\r]}")


def _part(number: int, line: str) -> StreamValue:
    """What a line says behind its launcher's prefix."""
    *prefix, text = _PREFIX.split(line.strip(), 1)
    return _read(number, prefix[-1] if prefix else None, text)


def _opened(text: str) -> int:
    """How many more brackets it opens than it closes, outside of strings."""
    if "{" in text or "[" in text or "}" in text or "]" in text:  # most lines have none
        text = _STRING.sub("", text)
        return sum(map(text.count, "[{")) - sum(map(text.count, "]}"))
    return 0


def _read(number: int, host: str | None, text: str) -> StreamValue:
    """Chatter of one word is no value, nor is a number of thousands of digits, nor hostile depth."""
    try:
        return StreamValue(number, host, text, json.loads(text))
    except json.JSONDecodeError:
        why = "cut in the middle" if text[0] in "[{" else text[:_SHOWN]
    except (ValueError, RecursionError):
        why = "a value that does not describe a machine"
    return StreamValue(number, host, text, why=f"not JSON: {why}")


def _texts(stream: IO[bytes]) -> Iterator[str]:
    """The lines, also where PowerShell's `>` wrote UTF-16 or a byte order mark; what is not text comes as that."""
    first = stream.readline(MOST_BYTES)
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            yield from StringIO((first + stream.read(MOST_BYTES)).decode("utf-16"))
        except UnicodeError:
            yield _NO_TEXT
        return
    raw = first.removeprefix(b"\xef\xbb\xbf")
    while raw:
        try:
            yield raw.decode()
        except UnicodeError:
            yield _NO_TEXT
        raw = stream.readline(MOST_BYTES)
