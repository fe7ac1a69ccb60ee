"""Known error texts, looked for in a stream: each byte is read once for each pattern, whatever the text is. Pure.

A pattern is text, in any case of letters, over one line or several; `*` stands for anything up to two lines on.
There is nothing in it that could be tried twice, so no text makes the search slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchpick.doctor.logs import message
from torchpick.model.fields import Fields
from torchpick.model.fields import read as noun_of
from torchpick.model.finding import ERROR, NOTE
from torchpick.model.noun import Noun

# A line is looked at so far before and behind the words that were found in it.
_BEFORE, _BEHIND = 2048, 4096
# And so many lines.
_SPAN = 2
# So much waits for what comes: the lines that one pattern may span, and the line that it begins in.
_WAITING = 1 << 15
_MOST_SHOWN = 300


class Case(Noun):
    """The cause of an error where all these facts hold, by its id."""

    where: tuple[str, ...]
    cause: str


class IneffectiveFix(Noun):
    """What people try, and why it won't help."""

    what: str
    why: str


class Signature(Noun):
    """One cause of trouble and the texts it is known by; compat/README.md says what the fields mean."""

    id: str
    title: str
    patterns: tuple[str, ...]
    meaning: str
    causes: tuple[str, ...]
    cures: tuple[str, ...]
    no_use: tuple[IneffectiveFix, ...]
    findings: tuple[str, ...]
    links: tuple[str, ...]
    install: bool
    follows: tuple[str, ...]
    cases: tuple[Case, ...] = ()
    finding: str | None = None

    @property
    def name(self) -> str:
        """The code under which it is shown."""
        return self.finding or self.id

    @property
    def severity(self) -> str:
        return ERROR if self.install else NOTE

    @property
    def why(self) -> str:
        return self.meaning

    def cause(self, facts: set[str], known: Mapping[str, Signature]) -> Signature:
        """What is behind it where these facts hold: by the first case that they meet, else the error itself."""
        found = (known[case.cause].cause(facts, known) for case in self.cases if facts >= {*case.where})
        return next(found, self)

    def about(self, named: Mapping[str, str | None]) -> Signature:
        """The same with what is known of the text (a package, its torch, a machine's flags) in what is to be done."""
        cures = self.cures
        for name, known in named.items():
            cures = tuple(cure.replace(name, known or name) for cure in cures)
        return self._replace(cures=cures)


class Match(Noun):
    """Where a signature was first seen, and the line."""

    signature: Signature
    line: int
    text: str


def read(fields: Fields) -> dict[str, Signature]:
    """compat/errors.json by the ids; ShapeError where it is not of its form."""
    found = {}
    for row in fields.objects("signatures"):
        no_use = tuple(noun_of(IneffectiveFix, each, most=None) for each in row.objects("no_use"))
        cases = tuple(noun_of(Case, case, most=None) for case in row.maybe_objects("cases"))
        one = noun_of(Signature, row, most=None, no_use=no_use, cases=cases)
        found[one.id] = one
    return found


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
        self._patterns = [
            ([part for part in pattern.lower().encode().split(b"*") if part], signature.id)
            for signature in known.values()
            for pattern in signature.patterns
        ]
        self._found: dict[str, Match] = {}
        self.rest = b""
        self._line = 1

    def feed(self, chunk: bytes) -> None:
        """Look through what has come; its end waits, as a pattern may begin there and go on in what comes."""
        self.rest += chunk
        if len(self.rest) > 2 * _WAITING:
            self._look()
            cut = self.rest.rfind(b"\n", 0, -_WAITING) + 1 or len(self.rest) - _WAITING
            self._line += self.rest.count(b"\n", 0, cut)
            self.rest = self.rest[cut:]

    def matches(self) -> tuple[Match, ...]:
        """Everything seen: causes before what follows from them, else in the order of the text. Ask at its end."""
        self._look()
        found = self._found
        return tuple(
            sorted(
                found.values(),
                key=lambda match: (
                    any(cause in found for cause in match.signature.follows),
                    match.line,
                    match.signature.id,
                ),
            )
        )

    def _look(self) -> None:
        numbered = enumerate(map(message, self.rest.split(b"\n")), self._line)
        lines = [(number, text) for number, text in numbered if text]
        lower = b"\n".join(text for _, text in lines).lower()
        flat = lower.replace(b"\n", b" ")
        for parts, name in self._patterns:
            if name not in self._found and (at := _first(lower, flat, parts)) is not None:
                number, text = lines[lower.count(b"\n", 0, at)]
                shown = _around(text.decode("utf-8", "replace"), max(parts, key=len))
                self._found[name] = Match(self._wanted[name], number, shown)
        self._patterns = [pattern for pattern in self._patterns if pattern[1] not in self._found]


def _first(lines: bytes, flat: bytes, parts: Sequence[bytes]) -> int | None:
    """Where the longest text of a pattern first has the others around it; `flat` are the lines as one."""
    anchor = max(parts, key=len)
    at = flat.find(anchor)
    while at >= 0:
        before = lines[max(0, at - _BEFORE) : at].split(b"\n")[-1 - _SPAN :]
        behind = lines[at : at + _BEHIND].split(b"\n")
        own = 1 + lines.count(b"\n", at, at + len(anchor))
        if found_in(b" ".join(before) + b" ".join(behind[: own + _SPAN]), parts):
            return at
        # Whatever else lies in these lines was looked at with it.
        at = flat.find(anchor, at + len(b" ".join(behind[:own])))
    return None


def _around(line: str, anchor: bytes) -> str:
    """The part of a long line that has the words."""
    if len(line) <= _MOST_SHOWN:
        return line
    at = max(0, line.lower().find(anchor.decode()) - _MOST_SHOWN // 3)
    return ("…" if at else "") + line[at : at + _MOST_SHOWN].strip() + "…"
