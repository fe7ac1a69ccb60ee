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
_PREFIX = re.compile(r"([^\s{}\[\]\",:]{1,255}): ?(?=\S)")
# What begins a line of chatter so is the program that says it, and no host.
_SPEAKERS = frozenset(
    ("bash", "sh", "ssh", "srun", "slurmstepd", "pdsh", "kubectl", "error", "warning", "note", "hint")
)
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|"|[\[{]|[\]}]')
# A value of ours or of kubectl begins so; where one stands whole on its line, what came before it was cut.
_MACHINE_KEYS = ("schema", "platform", "apiVersion")
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


class _Pending(Noun):
    """A value that goes on: its first line, whose prefix it has, and how deep it is."""

    line: int
    host: str | None
    depth: int
    parts: list[str]
    size: int

    @property
    def opened_alone(self) -> bool:
        return len(self.parts[0].strip()) <= 2


_NOTHING = _Pending(0, None, 0, [], 0)
_EXTRA = "Extra data"


def values(stream: IO[bytes]) -> Iterator[ListedValue | UnreadLine]:
    """Every value of the stream, and in its place whatever is not one. No more than one value is kept in memory."""
    pending = _NOTHING
    for number, line in enumerate(_texts(stream), start=1):
        if line is None:
            yield UnreadLine(number, "not UTF-8 text")
            continue
        if not line.strip():
            continue
        host, text = _split(line)
        found = _loaded(text)
        if pending.parts and not _interrupts(found, pending):
            pending.parts.append(line)
            pending = pending._replace(depth=pending.depth + _depth(line), size=pending.size + len(line))
            if pending.depth <= 0 or pending.size > MOST_BYTES:
                yield _whole(pending)
                pending = _NOTHING
            continue
        if pending.parts:
            yield _cut(pending)
        pending = _NOTHING
        if isinstance(found, _Unloaded) and found.why != _EXTRA and text[0] in "[{" and (depth := _depth(text)) > 0:
            pending = _Pending(number, host, depth, [text], len(text))
        else:
            yield from _of_line(number, host, text, found)
    if pending.parts:
        yield _cut(pending)


def _of_line(number: int, host: str | None, text: str, found: object) -> Iterator[ListedValue | UnreadLine]:
    if not isinstance(found, _Unloaded):
        yield ListedValue(number, found, host)
    elif found.why == _EXTRA:
        yield from _several(number, host, text)
    else:
        yield UnreadLine(number, f"not JSON: {found.why}", host)


def _cut(pending: _Pending) -> UnreadLine:
    return UnreadLine(pending.line, "not JSON: cut in the middle", pending.host)


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


def _several(number: int, host: str | None, text: str) -> Iterator[ListedValue | UnreadLine]:
    """Values one after the other on a line."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield UnreadLine(number, f"not JSON: {_shown(text[at:])}", host)
            return
        yield ListedValue(number, value, host)
        at += len(text[at:]) - len(text[at:].lstrip(" \t,"))


class _Unloaded(Noun):
    """Why a text is not JSON."""

    why: str


def _loaded(text: str) -> object:
    if text[:1] not in "[{" and _word(text):
        return _Unloaded(_shown(text))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return _Unloaded(error.msg if text[:1] in "[{" else _shown(text))
    except (ValueError, RecursionError):  # a number of thousands of digits, hostile depth
        return _Unloaded("a value that does not describe a machine")


def _word(text: str) -> bool:
    """Whether the line is chatter, such as a shell's warning."""
    return text[:1].isalpha() and text.strip() not in ("true", "false", "null")


def _shown(text: str) -> str:
    shown = text.strip()
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


def _split(line: str) -> tuple[str | None, str]:
    """The prefix of a launcher, if there is one, and the rest."""
    text = line.strip(" \t\r\n")
    if text[0] in '[{"':
        return None, text
    match = _PREFIX.match(text)
    if match is None or (match[1].partition("@")[0].lower() in _SPEAKERS and text[match.end()] not in "[{"):
        return None, text
    return match[1], text[match.end() :]


def _interrupts(found: object, pending: _Pending) -> bool:
    """Whether a line is a machine of its own, and not the next part of what was begun."""
    return isinstance(found, dict) and not pending.opened_alone and any(key in found for key in _MACHINE_KEYS)


def _depth(text: str) -> int:
    """How many brackets the text leaves open; a text that ends inside a string leaves none, as none goes on."""
    depth = 0
    for mark in _MARKS.findall(text):
        if mark == '"':
            return -1
        if len(mark) == 1:
            depth += 1 if mark in "[{" else -1
    return depth


def _whole(pending: _Pending) -> ListedValue | UnreadLine:
    found = _loaded("".join(pending.parts).strip())
    if isinstance(found, _Unloaded):
        return UnreadLine(pending.line, f"not JSON: {found.why}", pending.host)
    return ListedValue(pending.line, found, pending.host)
