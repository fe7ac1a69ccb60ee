"""The lines of a text that streams by, each weighed, and the known errors in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain, islice
from typing import NamedTuple

from torchpick.doctor.posts import before_comment, message, without_forms
from torchpick.model.address import redacted
from torchpick.model.fields import Fields
from torchpick.model.finding import ERROR, NOTE
from torchpick.model.versions import remembered


class Weight(IntEnum):
    """Of a line as evidence, the least number first: what was raised below its frames, and no more handled, ended it.

    An error in the title is somebody's summary, and one that was handled led on to another: both stand beside.
    """

    RAISED = 0
    ENDED = 1
    BESIDE = 2
    HARMLESS = 3


PASSED_OVER = re.compile(
    rb"(?i)\bif you (?:get|see|encounter|run into)\b|can (?:safely )?(?:be )?ignore|safe(?:ly)? (?:to )?ignore"
    rb"|(?:Future|Deprecation)Warning\b"
    rb"|is looking at multiple versions of|to determine which version is compatible|^is cuda available: false"
    rb"| requires (?!torch\b)[^,\n]{1,80}, which is not installed|^pcieport "
)
_ENDED = re.compile(
    rb"(?:[A-Za-z_.]{1,80}(?:Error|Exception)|\b(?i:error|fatal|fatal error)):\s|^ninja: build stopped"
    rb"|^[A-Z][A-Za-z_.]{1,80}(?:Error|Exception)$|^OMP: Error #|\bld: cannot find -l|^CMake Error\b|^\xc3\x97 "
    rb"|^(?:\S{1,80}: )?(?:malloc|free|realloc|munmap_chunk)\(\): |^(?:double free or corruption|corrupted )"
)
# What an installer or a linker says at its end of an error that stands above.
CLOSING = re.compile(
    rb"(?i)(?:\xc3\x97 )?(?:collect2: error: ld returned|srun: error: |subprocess\.CalledProcessError: Command"
    rb"|torch\.distributed\.elastic\.multiprocessing|RuntimeError: Engine core initialization failed"
    rb"|(?:error: )?(?:metadata-generation-failed|subprocess-exited-with-error|failed-wheel-build-for-install"
    rb"|legacy-install-failure|Encountered error while|.{1,99} did not run successfully)"
    rb"|(?:error: )?(?:the )?(?:pip|process|command|script)\b.{0,99}\b(?:exit(?:ed)?|non-zero|failed with)\b)"
)
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
    if is_title or is_handled or CLOSING.match(line) or not _ENDED.search(line):
        return Weight.BESIDE
    return Weight.RAISED if frame(lines, place) else Weight.ENDED


# The innermost frame stands so many lines above its error: the line of code, and marks under it, are between.
_BELOW_A_FRAME = 4


def frame(lines: Sequence[tuple[int, bytes]], place: int) -> bytes:
    """The innermost frame above one of these lines; empty where that is not below a traceback."""
    above = (text for _, text in reversed(lines[max(0, place - _BELOW_A_FRAME) : place]))
    return next((text for text in above if text.startswith(b'File "')), b"")


# A line is looked at so far before and behind the words that were found in it.
_BEFORE, _BEHIND = 2048, 4096
# And so many lines.
_SPAN = 2
# So much waits for what comes: the lines that one pattern may span, and the line that it begins in.
_WAITING = 1 << 15
_MOST_SHOWN = 300
# A better line of an error is looked for at so many places of a stretch.
_MOST_PLACES = 8


class Signature(NamedTuple):
    """One cause of trouble and the texts it is known by; compat/README.md says what the fields mean."""

    id: str
    title: str
    patterns: tuple[str, ...]
    meaning: str
    causes: tuple[str, ...]
    cures: tuple[str, ...]
    no_use: tuple[Mapping[str, str], ...]
    findings: tuple[str, ...]
    links: tuple[str, ...]
    install: bool
    follows: tuple[str, ...]
    cases: tuple[tuple[tuple[str, ...], str], ...] = ()
    finding: str | None = None
    steps: tuple[tuple[frozenset[str], frozenset[str], str], ...] = ()

    @property
    def name(self) -> str:
        """The code under which it is shown."""
        return self.finding or self.id

    @property
    def severity(self) -> str:
        return ERROR if self.install else NOTE

    @property
    def spelt(self) -> set[str]:
        """The facts of its cases and steps that are texts to look for."""
        wheres = (*(where for where, _ in self.cases), *(one | other for one, other, _ in self.steps))
        return {fact for fact in chain.from_iterable(wheres) if fact.startswith("~")}

    @property
    def why(self) -> str:
        return self.meaning

    def cause(self, facts: set[str], known: Mapping[str, Signature]) -> Signature:
        """What is behind it where these facts hold: by the first case that they meet, else the error itself."""
        found = (known[cause].cause(facts, known) for where, cause in self.cases if facts >= {*where})
        return next(found, self)


def says(fact: str, lower: str) -> bool:
    """Whether a text in small letters has the words of such a fact, as whole words but where it ends with `*`."""
    words = fact[1:].removesuffix("*")
    if words not in lower:
        return False
    before, behind = "(?<![a-z0-9])" * words[0].isalnum(), "(?![a-z0-9])" * fact[-1].isalnum()
    return re.search(before + re.escape(words) + behind, lower) is not None


class Match(NamedTuple):
    """Where a signature was first seen in a line of the most weight, that line, and the innermost frame above it.

    `package`: whose error it is, where that is known without the words of the line.
    """

    signature: Signature
    line: int
    text: str
    weight: Weight = Weight.BESIDE
    frame: str = ""
    package: str | None = None


def read_signatures(fields: Fields) -> dict[str, Signature]:
    """compat/errors.json by the ids; ShapeError where it is not of its form."""
    signatures = map(_signature, fields.objects("signatures"))
    return {signature.id: signature for signature in signatures}


def _signature(row: Fields) -> Signature:
    return Signature(
        id=row.text("id"),
        title=row.text("title"),
        patterns=row.texts("patterns"),
        meaning=row.text("meaning"),
        causes=row.texts("causes"),
        cures=row.texts("cures"),
        no_use=tuple({name: fix.text(name) for name in ("what", "why")} for fix in row.objects("no_use")),
        findings=row.texts("findings"),
        links=row.texts("links"),
        install=row.flag("install"),
        follows=row.texts("follows"),
        cases=tuple((case.texts("where"), case.text("cause")) for case in row.maybe_objects("cases")),
        finding=row.maybe_text("finding"),
        steps=tuple(
            (frozenset(step.texts("where")), frozenset(step.texts("unless")), step.text("do"))
            for step in row.maybe_objects("steps")
        ),
    )


def found_in(text: bytes, parts: Iterable[bytes]) -> bool:
    """Whether a text has these in their order."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


class Search:
    """Feed it a text in chunks; it remembers where each signature was first seen.

    Lines are joined to one stretch of text with single blanks, so a pattern may span several of them.
    """

    def __init__(self, known: Mapping[str, Signature]) -> None:
        self._wanted = known
        patterns = [
            ([part for part in pattern.lower().encode().split(b"*") if part], signature.id)
            for signature in known.values()
            for pattern in signature.patterns
        ]
        self._patterns = _by_word(patterns)
        self._found: dict[str, Match] = {}
        self.rest = b""
        self._line = 1

    def feed(self, chunk: bytes) -> None:
        """Look through what has come; its end waits, as a pattern may begin there and go on in what comes."""
        self.rest += chunk
        if len(self.rest) > 2 * _WAITING:
            self._look(self.rest[: before_comment(self.rest, len(self.rest))])
            cut = self.rest.rfind(b"\n", 0, -_WAITING) + 1 or len(self.rest) - _WAITING
            cut = before_comment(self.rest, cut)
            self._line += self.rest.count(b"\n", 0, cut)
            self.rest = self.rest[cut:]

    def matches(self) -> tuple[Match, ...]:
        """Everything seen: causes before what follows, then by rank and line. Ask at the end."""
        self._look(self.rest)
        found = self._found
        return tuple(
            sorted(
                found.values(),
                key=lambda match: (
                    any(cause in found for cause in match.signature.follows),
                    match.weight,
                    # What a program or an installer said last ended it; of what stands beside, the first is the point.
                    -match.line if match.weight <= Weight.ENDED else match.line,
                    match.signature.id,
                ),
            )
        )

    def _look(self, stretch: bytes) -> None:
        # Lines that differ in numbers alone, of which a long log consists, have the same words.
        words = b"\n".join({*stretch.lower().translate(_NO_NUMBERS).split(b"\n")})
        has = remembered(words.__contains__)
        raised = {name for name, match in self._found.items() if match.weight is Weight.RAISED}
        by_word = (patterns for word, patterns in self._patterns.items() if has(word.translate(_NO_NUMBERS)))
        present = [
            (parts, name)
            for parts, name in chain.from_iterable(by_word)
            if name not in raised and all(map(has, (word for part in parts for word in _WORD.findall(part))))
        ]
        if not present:  # as in most of a long log
            return
        numbered = enumerate(map(message, without_forms(stretch).split(b"\n")), self._line)
        lines = [(number, text) for number, text in numbered if text]
        lower = b"\n".join(text for _, text in lines).lower()
        flat = lower.replace(b"\n", b" ")
        for parts, name in present:
            best = self._found.get(name)
            if best is not None and best.weight is Weight.RAISED:
                continue
            for at in islice(_places(lower, flat, parts), _MOST_PLACES):
                place = lower.count(b"\n", 0, at)
                weighs = weight(lines, place)
                if best is None or weighs < best.weight:
                    number, text = lines[place]
                    shown = around(text.decode("utf-8", "replace"), max(parts, key=len))
                    above = frame(lines, place).decode("utf-8", "replace")
                    self._found[name] = best = Match(self._wanted[name], number, shown, weighs, above)


_Pattern = tuple[list[bytes], str]
_WORD = re.compile(rb"[a-z]{4,}")
_NO_NUMBERS = bytes.maketrans(b"123456789", b"000000000")


def _by_word(patterns: Sequence[_Pattern]) -> dict[bytes, list[_Pattern]]:
    """By a word that many of them have in their longest text: where that is not, none of them is looked for."""
    anchors = [max(parts, key=len) for parts, _ in patterns]
    words = [_WORD.findall(anchor) for anchor in anchors]
    common = Counter(chain.from_iterable(words))
    found: dict[bytes, list[_Pattern]] = {}
    for anchor, inside, pattern in zip(anchors, words, patterns, strict=True):
        word = max(inside, key=common.__getitem__, default=anchor)
        found.setdefault(word, []).append(pattern)
    return found


def _places(lines: bytes, flat: bytes, parts: Sequence[bytes]) -> Iterator[int]:
    """Where the longest text of a pattern has the others around it, once a line; `flat` are the lines as one."""
    anchor = max(parts, key=len)
    at = flat.find(anchor)
    while at >= 0:
        start, least = at, max(0, at - _BEFORE)
        for _ in range(_SPAN + 1):
            start = lines.rfind(b"\n", least, start) if start > least else -1
        most = min(len(lines), at + _BEHIND)
        end = own = _line_end(lines, at + len(anchor), most)
        for _ in range(_SPAN):
            end = _line_end(lines, end + 1, most)
        if found_in(flat[max(start + 1, least) : end], parts):
            yield at
        # Whatever else lies in these lines was looked at with it.
        at = flat.find(anchor, own)


def _line_end(lines: bytes, at: int, most: int) -> int:
    end = lines.find(b"\n", at, most)
    return most if end < 0 else end


def around(line: str, anchor: bytes) -> str:
    """The part of a long line that has the words."""
    if len(line) <= _MOST_SHOWN:
        return line
    line = redacted(line)  # of what is cut in two nothing tells that it is a password
    at = max(0, line.lower().find(anchor.decode()) - _MOST_SHOWN // 3)
    return ("…" if at else "") + line[at : at + _MOST_SHOWN].strip() + "…"
