"""What people paste, cut: lines without what was put before them, and what each weighs as evidence."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain

_COLOUR = re.compile(rb"\x1b\[[0-9;?]{0,20}[A-Za-z]|\r(?=\n|$)")
# What stands before a message: a loader puts several of them, so each is taken off in turn. Every form begins at the
# start of the line and is bounded, so no line is looked at twice.
_FRONT = re.compile(
    rb"\s{0,200}(?:"
    rb"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"  # 2026-11-22 03:12:11,123
    rb"|\[?\d\d-\d\d \d\d:\d\d:\d\d\]?"  # vLLM: 04-03 09:29:49
    rb"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?"
    rb"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]?\d \d\d:\d\d:\d\d \S{1,64}"  # syslog
    rb"|\[ {0,9}\d{1,9}\.\d{1,9}\]"  # dmesg
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} {1,9}\d{1,9} [^\]\s]{1,200}\]"  # glog
    rb"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?:?(?=\s)"
    rb"|\[[\w.-]{1,40}:\d{1,6}\]"  # [__init__.py:243]
    rb"|\([A-Za-z_][\w-]{0,40}(?: pid=\d{1,9})?(?:, ip=[\w.:]{1,64})?\)"  # (EngineCore_0 pid=123)
    rb"|NVRM:"
    rb"|(?:rank|\[rank)\s?\d{1,5}\]?:"
    rb"|\d{1,5}: (?=\S)"  # srun -l
    rb"|-(?= )|\xe2\x94[\x82\x94\x9c](?:\xe2\x94\x80){0,3}|\||>"  # a list's dash, a table, a tree, a quotation
    rb")\s{0,200}"
)
_MOST_FRONTS = 8
_QUOTES = ((b"\xe2\x80\x98", b"'"), (b"\xe2\x80\x99", b"'"), (b"\xe2\x80\x9c", b'"'), (b"\xe2\x80\x9d", b'"'))
_BLANKS = re.compile(rb"\s+")
# A line break that a program wrote out; in `C:\new` it is none.
_WRITTEN_OUT = re.compile(rb"(?<=[\s.:;,)'\"])(?:\\r)?\\n")
_FRAME = b"\xe2\x94\x82"


def message(line: bytes) -> bytes:
    """The line as its writer meant it, with single blanks."""
    if b"\x1b" in line or b"\r" in line:
        line = _COLOUR.sub(b"", line)
    for _ in range(_MOST_FRONTS):
        front = _FRONT.match(line)
        if front is None:
            break
        line = line[front.end() :]
    if b"\xe2" in line:
        for curly, plain in _QUOTES:
            line = line.replace(curly, plain)
        line = line.rstrip().removesuffix(_FRAME)
    if b"\\n" in line:
        line = _WRITTEN_OUT.sub(b" ", line)
    return _BLANKS.sub(b" ", line).strip()


def decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks as UTF-8: a Windows shell writes its logs in UTF-16."""
    stream = iter(chunks)
    first = next(stream, b"")
    whole = chain((first,), stream)
    if first[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return whole
    return (text.encode() for text in codecs.iterdecode(whole, "utf-16", "replace"))


class Weight(IntEnum):
    """Of a line as evidence, the least number first: what ended a program outranks what stands beside it.

    An error in the title is somebody's summary, and one that was handled led on to another: both stand beside.
    """

    ENDED = 0
    BESIDE = 1
    HARMLESS = 2


PASSED_OVER = re.compile(
    rb"(?i)can (?:safely )?(?:be )?ignore|safe(?:ly)? (?:to )?ignore|(?:Future|Deprecation)Warning\b"
)
_ENDED = re.compile(rb"(?:[A-Za-z_.]{1,80}(?:Error|Exception)|\b(?i:error|fatal|fatal error)):\s")
_HANDLED = b"During handling of the above exception"
# So many lines may stand between an error's own line and that it was handled.
_REST_OF_AN_ERROR = 4


def weight(lines: Sequence[tuple[int, bytes]], place: int) -> Weight:
    """The weight of one of these numbered lines; blank ones are left out."""
    number, line = lines[place]
    if PASSED_OVER.search(line):
        return Weight.HARMLESS
    is_title = number == 1 and len(lines) > 1 and lines[1][0] > number + 1
    behind = lines[place + 1 : place + _REST_OF_AN_ERROR]
    is_handled = any(text.startswith(_HANDLED) for _, text in behind)
    return Weight.BESIDE if is_title or is_handled or not _ENDED.search(line) else Weight.ENDED
