"""A text as its author wrote it: without colours, what loggers put before a line, and the words of an issue's form."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from torchpick.model.versions import remembered

_COLOUR = re.compile(rb"\x1b\[[0-9;?]{0,20}[A-Za-z]|\r(?=\n|$)")
# What stands before a message: a loader puts several of them, so each is taken off in turn. Every form begins at the
# start of the line and is bounded, so no line is looked at twice.
_FRONT = re.compile(
    rb"\s{0,200}(?:"
    rb"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"  # 2026-11-22 03:12:11,123
    rb"|\[?\d\d-\d\d \d\d:\d\d:\d\d\]?"  # vLLM: 04-03 09:29:49
    rb"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?"
    rb"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]?\d \d\d:\d\d:\d\d \S{1,64}"  # syslog
    rb"|\[ {0,9}\+?\d{1,9}\.\d{1,9}\]"  # dmesg
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} {1,9}\d{1,9} [^\]\s]{1,200}\]"  # glog
    rb"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR(?!:)|CRITICAL|FATAL)\]?:?(?=\s)"
    rb"|\[[\w.-]{1,40}:\d{1,6}\]|[\w.-]{1,40}\.py:\d{1,6}\]"  # [__init__.py:243], engine.py:135]
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
_WRITTEN_OUT = re.compile(rb"(?<=[\s.:;,)'\"])(?<!\b[A-Za-z]:)(?:\\r)?\\n|(?:\\r)?\\{1,8}n(?=\\{0,8}[\"'])")
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


_ANSWERED = re.compile(rb"(?m)^[ \t]{0,8}(?:[-*] \[[ xX]\] .{0,2000}|_No response_)[ \t\r]{0,8}$")


# No form's comment is longer: what is begun for longer is text.
_MOST_COMMENT = 1 << 14


def without_forms(text: bytes) -> bytes:
    """The text without what an issue's form says: its comments and boxes; every line keeps its number."""
    parts, at = [], 0
    while (end := text.find(b"-->", at)) >= 0:
        start = text.find(b"<!--", max(at, end - _MOST_COMMENT), end)
        parts += [text[at : end + 3]] if start < 0 else [text[at:start], b"\n" * text.count(b"\n", start, end)]
        at = end + 3
    return _ANSWERED.sub(b"", b"".join([*parts, text[at:]]))


def before_comment(text: bytes, end: int) -> int:
    """Where the comment begins that this place may lie in; the place itself where it lies in none."""
    start = text.find(b"<!--", max(text.rfind(b"-->", 0, end), end - _MOST_COMMENT, 0), end)
    return end if start < 0 else start


# What a post complains of stands in its title and so much below it, what it asks at its end; between are logs and code.
_COMPLAINT, _QUESTION = 600, 300
_SOURCE = r"py|python|toml|ya?ml|json|docker\w{0,10}|diff|c|cpp|c\+\+|cuda|js"
_CODE = re.compile(rf"(?m)^ ?`{{3}}(?:{_SOURCE}) ?$[^`]{{0,9999}}`{{3}}")


def complaint(text: str) -> str:
    """What the author of a plain text says first and last, in whole lines, without source code."""
    text = _CODE.sub("", text)
    first = text.find("\n", _COMPLAINT)
    last = text.rfind("\n", 0, max(0, len(text) - _QUESTION))
    return text if not 0 <= first < last else text[:first] + text[last:]


# So much of a text is searched for what it says of its machine.
MOST_TEXT = 1 << 19
_LONGEST_LINE = 1 << 16


def plain(start: bytes, rewritten: Mapping[str, str]) -> str:
    """The start of a text as lines of messages, in the forms that are read."""
    lines = start[:MOST_TEXT].split(b"\n")
    text = "\n".join(message(line).decode("utf-8", "replace") for line in lines if len(line) <= _LONGEST_LINE)
    lower = text.lower()
    for form, other in rewritten.items():
        if may_match(form, lower):
            text = re.sub(f"(?im){form}", other, text)
    return text


_MANY = r"(?:[?*+]|\{[^}]*\})\??"
_VAGUE = re.compile(rf"(?:\\u.{{4}}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\])(?:{_MANY})?|[^()\\}}]{_MANY}")
_GROUP = re.compile(rf"\((\?(?:<?[!=]|p=|p<\w+>|[-ima]*:))?([^()]*)\)({_MANY})?")
# A group of several stands as one of these signs while the rest is taken apart.
_FIRST = "\ue000"
_PARTS = re.compile(rf"[{_FIRST}-\uf8ff]|[^\0.^$+(){_FIRST}-\uf8ff]+")


@remembered
def _literals(expression: str) -> Sequence[Sequence[Sequence[str]]]:
    """For each alternative of an expression what every match of it has, each as texts of which one is there."""
    several: list[Sequence[str]] = []

    def meant(part: str) -> Sequence[str]:
        return several[ord(part) - ord(_FIRST)] if _FIRST <= part < "\uf8ff" else (part,)

    def taken_apart(group: re.Match[str]) -> str:
        kind, inside, many = group.groups(default="")
        if many or kind in ("?!", "?<!", "?p="):
            return "\0"
        if "|" not in inside:
            return f"\0{inside}\0" if kind in ("?=", "?<=") else inside
        longest = [max(_PARTS.findall(one), key=len, default="") for one in inside.split("|")]
        if not all(longest):
            return "\0"
        several.append([text for part in longest for text in meant(part)])
        return chr(ord(_FIRST) + len(several) - 1)

    rest, before = _VAGUE.sub("\0", expression.lower()), ""
    while "(" in rest and rest != before:
        rest, before = _GROUP.sub(taken_apart, rest), rest
    return [[meant(part) for part in _PARTS.findall(one)] for one in rest.split("|")]


def may_match(expression: str, lower: str) -> bool:
    """Whether a text in small letters has the words of an expression, or of one of its alternatives.

    To make an expression ready takes a hundred times as long as to see that a text cannot match it.
    """
    return any(all(any(text in lower for text in texts) for texts in needed) for needed in _literals(expression))
