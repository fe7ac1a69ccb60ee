"""A text that streams by, as plain lines; the known errors in it; and what it says of a machine and of versions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from torchpick.doctor.post import PASSED_OVER, Weight, message, weight
from torchpick.model.address import redacted
from torchpick.model.fields import Fields
from torchpick.model.finding import ERROR, NOTE
from torchpick.model.versions import normal

# A line is looked at so far before and behind the words that were found in it.
_BEFORE, _BEHIND = 2048, 4096
# And so many lines.
_SPAN = 2
# So much waits for what comes: the lines that one pattern may span, and the line that it begins in.
_WAITING = 1 << 15
_MOST_SHOWN = 300
# A better line of an error is looked for at so many places of a stretch.
_MOST_PLACES = 8


class Case(NamedTuple):
    """The cause of an error where all these facts hold, by its id."""

    where: tuple[str, ...]
    cause: str


class IneffectiveFix(NamedTuple):
    """What people try, and why it won't help."""

    what: str
    why: str


class Signature(NamedTuple):
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

    def about(self, named: Mapping[str, str | None], facts: Collection[str]) -> Signature:
        """What is to be done with what is known of the text in it: a package, its torch, a machine's flags, a system.

        A remedy that is nothing but what is known goes where that is not, and one of another system always.
        """
        cures = [cure for cure in self.cures if named.get(cure, cure) and not _is_elsewhere(cure, facts)]
        unknown = [name for name, value in named.items() if value is None]
        if any(named.get(cure) for cure in cures):  # computed for this text, which leaves nothing to fill in
            cures = [cure for cure in cures if not any(map(cure.count, unknown))]
        for name, value in named.items():
            cures = [cure.replace(name, name if value is None else value) for cure in cures]
        if "windows" in facts:
            cures = [cure.replace("`export ", "`set ") for cure in cures]
        meaning = self.meaning.replace("PACKAGE", named.get("PACKAGE") or "it")
        return self._replace(cures=(*cures,) or self.cures, meaning=meaning)


_LINUX_ALONE = re.compile(r"on linux\b|.*`(?:sudo )?apt|.*\bLD_(?:LIBRARY_PATH|PRELOAD)\b", re.IGNORECASE)
_SYSTEMS = ("linux", "windows", "macos")


def _is_elsewhere(cure: str, facts: Collection[str]) -> bool:
    """Whether it is for another system than the text's."""
    system = next((system for system in reversed(_SYSTEMS) if system in facts), None)
    if system is None:
        return False
    named = next((name for name in _SYSTEMS if cure.lower().startswith(f"on {name} ")), None)
    return named not in (None, system) or (system != "linux" and _LINUX_ALONE.match(cure) is not None)


class Match(NamedTuple):
    """Where a signature was first seen in a line of the most weight, and that line."""

    signature: Signature
    line: int
    text: str
    weight: Weight = Weight.BESIDE


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
        no_use=tuple(IneffectiveFix(fix.text("what"), fix.text("why")) for fix in row.objects("no_use")),
        findings=row.texts("findings"),
        links=row.texts("links"),
        install=row.flag("install"),
        follows=row.texts("follows"),
        cases=tuple(Case(case.texts("where"), case.text("cause")) for case in row.maybe_objects("cases")),
        finding=row.maybe_text("finding"),
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
            self._look()
            cut = self.rest.rfind(b"\n", 0, -_WAITING) + 1 or len(self.rest) - _WAITING
            self._line += self.rest.count(b"\n", 0, cut)
            self.rest = self.rest[cut:]

    def matches(self) -> tuple[Match, ...]:
        """Everything seen: causes before what follows, then by the rank and the order of the lines. Ask at the end."""
        self._look()
        found = self._found
        return tuple(
            sorted(
                found.values(),
                key=lambda match: (
                    any(cause in found for cause in match.signature.follows),
                    match.weight,
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
        present = [patterns for word, patterns in self._patterns.items() if word in flat]
        for parts, name in chain.from_iterable(present):
            best = self._found.get(name)
            if best is not None and best.weight == Weight.ENDED:
                continue
            for at in islice(_places(lower, flat, parts), _MOST_PLACES):
                place = lower.count(b"\n", 0, at)
                weighs = weight(lines, place)
                if best is None or weighs < best.weight:
                    number, text = lines[place]
                    shown = _around(text.decode("utf-8", "replace"), max(parts, key=len))
                    self._found[name] = best = Match(self._wanted[name], number, shown, weighs)


_Pattern = tuple[list[bytes], str]
_WORD = re.compile(rb"[a-z]{4,}")


def _by_word(patterns: Sequence[_Pattern]) -> dict[bytes, list[_Pattern]]:
    """By a word that many of them have in their longest text: where that is not, none of them is looked for."""
    anchors = [max(parts, key=len) for parts, _ in patterns]
    common = Counter(word for anchor in anchors for word in _WORD.findall(anchor))
    found: dict[bytes, list[_Pattern]] = {}
    for anchor, pattern in zip(anchors, patterns, strict=True):
        word = max(_WORD.findall(anchor), key=common.__getitem__, default=anchor)
        found.setdefault(word, []).append(pattern)
    return found


def _places(lines: bytes, flat: bytes, parts: Sequence[bytes]) -> Iterator[int]:
    """Where the longest text of a pattern has the others around it, once a line; `flat` are the lines as one."""
    anchor = max(parts, key=len)
    at = flat.find(anchor)
    while at >= 0:
        before = lines[max(0, at - _BEFORE) : at].split(b"\n")[-1 - _SPAN :]
        behind = lines[at : at + _BEHIND].split(b"\n")
        own = 1 + lines.count(b"\n", at, at + len(anchor))
        if found_in(b" ".join(before) + b" ".join(behind[: own + _SPAN]), parts):
            yield at
        # Whatever else lies in these lines was looked at with it.
        at = flat.find(anchor, at + len(b" ".join(behind[:own])))


def _around(line: str, anchor: bytes) -> str:
    """The part of a long line that has the words."""
    if len(line) <= _MOST_SHOWN:
        return line
    line = redacted(line)  # of what is cut in two nothing tells that it is a password
    at = max(0, line.lower().find(anchor.decode()) - _MOST_SHOWN // 3)
    return ("…" if at else "") + line[at : at + _MOST_SHOWN].strip() + "…"


# Of ASCII's words too: in `在Mac上` no letter of Mac is one of another word.
_BORDER = r"(?:\b|(?a:\b))"
# So much of a text is searched for what it says of its machine.
MOST_TEXT = 4 << 20
# And so much of its start and of its end for anybody's words, which posts have and long logs have not.
_MOST_WORDS = 1 << 16
_LONGEST_LINE = 1 << 16
_MOST_MATCHES = 50
_MOST_BEFORE = 200


class Words(NamedTuple):
    """compat/words.json: one expression for each name, of what is kept of a text and of what it may say.

    `rewritten` are the forms that are read as another one is.
    """

    rewritten: Mapping[str, str]
    kept: Mapping[str, str]
    facts: Mapping[str, str]


class Mentions(NamedTuple):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports.

    `others` are the GPUs beside the first; `cuda` is the one that torch was built for; `facts` are the names of
    compat/words.json, each with what the text says of it. `demands` are packages and what they require of torch.
    """

    capability: str | None = None
    name: str | None = None
    others: tuple[str, ...] = ()
    driver: str | None = None
    driver_cuda: str | None = None
    torch: str | None = None
    cuda: str | None = None
    python: str | None = None
    asked: str | None = None
    packages: Mapping[str, str] = {}
    demands: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, str] = {}

    @property
    def named(self) -> tuple[str, ...]:
        """What it says of its machine and of torch, for a person."""
        about = (
            ("", self.name or self.capability), *(("", name) for name in self.others), ("driver ", self.driver),
            ("torch ", self.torch), ("Python ", self.python), ("", self.platform),
        )  # fmt: skip
        return tuple(f"{what}{value}" for what, value in about if value)

    @property
    def platform(self) -> str | None:
        """The platform by its name, where the text says which."""
        arm = "aarch64" in self.facts
        if "macos" in self.facts:
            return "macos-x86_64" if {"intel", "no arm64 list"} & {*self.facts} else "macos-arm64"
        if "windows" in self.facts:
            return "windows-arm64" if arm else "windows-x86_64"
        return "linux-aarch64" if arm else "linux-x86_64" if "linux" in self.facts else None


def read_words(fields: Fields) -> Words:
    """ShapeError where the file is not of its form."""
    rewritten = {f"(?im){form}": other for form, other in fields.mapping("rewritten").items()}
    packages = f"(?:{'|'.join(fields.texts('packages'))})"
    return Words(
        rewritten,
        _expressions(fields.object("mentions"), "(?ima)", packages),
        _expressions(fields.object("words"), "(?im)", packages),
    )


def _expressions(fields: Fields, how: str, packages: str) -> dict[str, str]:
    """Each with the names of the packages where it has `{package}`, and borders of words as `_BORDER` has them."""
    joined = {name: "|".join(fields.texts(name)).replace("{package}", packages) for name in fields.names()}
    return {name: how + expression.replace(r"\b", _BORDER) for name, expression in joined.items()}


def of_text(start: bytes, words: Words) -> Mentions:
    """Look through the start of a text, for the words of compat/words.json too."""
    lines = start[:MOST_TEXT].split(b"\n")
    text = "\n".join(message(line).decode("utf-8", "replace") for line in lines if len(line) <= _LONGEST_LINE)
    for form, other in words.rewritten.items():
        text = re.sub(form, other, text)
    wanted = words.kept["wanted"]
    said: dict[str, Any] = {
        name: next(_each(form, wanted, text), None) for name, form in words.kept.items() if name in Mentions._fields
    }
    ends = text[:_MOST_WORDS] + text[max(_MOST_WORDS, len(text) - _MOST_WORDS) :]
    ends = "\n".join(line for line in ends.split("\n") if not PASSED_OVER.search(line.encode()))
    packages, demands = (islice(re.finditer(words.kept[kind], text), _MOST_MATCHES) for kind in ("package", "demand"))
    listed: dict[str, str] = {}
    for match in packages:
        listed.setdefault(normal(match[1]), match[2])
    return Mentions(
        **said,
        others=tuple(each for each in _each(words.kept["beside"], wanted, text) if each != said["name"]),
        packages=listed,
        demands=tuple(dict.fromkeys((match[1], match[2].strip(", ")) for match in demands)),
        facts={
            name: " ".join(each[each.lastindex or 0].split())
            for name, pattern in words.facts.items()
            if (each := re.search(pattern, ends))
        },
    )


def names(kind: str, start: bytes, words: Words) -> bool:
    """Whether a text names what is of this kind: `programs` that use torch, or all that it may be `about`."""
    return re.search(words.kept[kind], start[:MOST_TEXT].decode("utf-8", "replace")) is not None


def _each(expression: str, wanted: str, text: str) -> Iterator[str]:
    """What the matches keep that are not merely asked for."""
    for found in islice(re.finditer(expression, text), _MOST_MATCHES):
        line = text.rfind("\n", 0, found.start()) + 1
        if not re.search(wanted, text[max(line, found.start() - _MOST_BEFORE) : found.start()]):
            yield found[found.lastindex or 0].strip()
