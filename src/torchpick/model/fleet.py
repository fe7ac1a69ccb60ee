"""Many machines: their names, those that are alike counted once, and those that are left out, each with its cause."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice

from torchpick.model.fields import written
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun

# The last number of the host's own label; what follows its first dot is the domain.
_NUMBERED = re.compile(r"([^.]*?[^0-9.])([0-9]{1,18})([^0-9.]*(?:\..*)?)", re.DOTALL)
_RANGE = r"[0-9]{1,18}(?:-[0-9]{1,18})?"
_RANGES = re.compile(rf"([^\[\],]*)\[({_RANGE}(?:,{_RANGE})*)\]([^\[\],]*)|([^,]+)")
# What a host can be called, also as `user@host`, `host:port` or by an IPv6 address with its zone: one word, no option.
_NAME = re.compile(r"[\w:][\w.@:%-]{0,252}")
# What may not stand in a bracket, since it would change the meaning.
_SPECIAL = frozenset("[],")


_BRIEF = 160


class Hosts(Noun):
    """How many machines, and the names of those that have one; `text` is empty where none has."""

    count: int  # type: ignore[assignment]  # nobody calls tuple.count on hosts
    text: str = ""

    @property
    def brief(self) -> str:
        """The names for a sentence: no more than a line of them."""
        return self.text if len(self.text) <= _BRIEF else f"{self.text[:_BRIEF]}… ({self.count} in all)"

    def __str__(self) -> str:
        machines = f"{self.count} machine{'' if self.count == 1 else 's'}"
        return f"{machines}: {self.brief}" if self.text else machines

    def to_json(self) -> dict[str, object]:
        """How many machines, and their names in ranges, null where none has one."""
        return {"count": self.count, "hosts": self.text or None}

    @property
    def names(self) -> Iterator[str]:
        """The names, one by one."""
        return islice(expanded(self.text), self.count)


class HostNames:
    """Names as they come, eight bytes each where they are numbered; a name that comes twice is one machine."""

    __slots__ = ("_numbered", "_plain", "_unnamed")

    def __init__(self) -> None:
        self._numbered: dict[tuple[str, int, str], array[int]] = {}
        self._plain: dict[str, None] = {}
        self._unnamed = 0

    def add(self, name: str | None) -> None:
        if not name:
            self._unnamed += 1
            return
        match = None if _SPECIAL.intersection(name) else _NUMBERED.fullmatch(name)
        if match is None:
            self._plain[name] = None
            return
        before, digits, after = match.groups()
        width = len(digits) if digits[0] == "0" and len(digits) > 1 else 0
        self._numbered.setdefault((before, width, after), array("Q")).append(int(digits))

    def hosts(self) -> Hosts:
        parts: list[tuple[str, str]] = [(name, name) for name in self._plain]
        count = self._unnamed + len(self._plain)
        for (before, width, after), numbers in self._aligned():
            count += len(numbers)
            parts.append((before + after, before + _ranges(numbers, width) + after))
        return Hosts(count, ",".join(text for _, text in sorted(parts)))

    def _aligned(self) -> Iterator[tuple[tuple[str, int, str], list[int]]]:
        """The numbers of each form, sorted: `n100` belongs to `n001`, whose numbers have as many digits."""
        aligned: dict[tuple[str, int, str], set[int]] = {}
        widths: dict[tuple[str, str], set[int]] = {}
        for before, width, after in self._numbered:
            if width:
                widths.setdefault((before, after), set()).add(width)
        for (before, width, after), numbers in self._numbered.items():
            padded = widths.get((before, after), set())
            if width or not padded:
                aligned.setdefault((before, width, after), set()).update(numbers)
                continue
            for number in numbers:
                length = len(str(number))
                aligned.setdefault((before, length if length in padded else 0, after), set()).add(number)
        for key, unique in aligned.items():
            yield key, sorted(unique)


def is_name(text: str) -> bool:
    """Whether a host can be called so. Names are written into lists of hosts, scripts and comments as they are."""
    return _NAME.fullmatch(text) is not None


def folded(names: Iterable[str | None]) -> Hosts:
    """These names, with a range for numbers that follow each other."""
    collected = HostNames()
    for name in names:
        collected.add(name)
    return collected.hosts()


def expanded(text: str) -> Iterator[str]:
    """The names behind `n[1-3],login`."""
    for match in _RANGES.finditer(text):
        before, ranges, after, plain = match.groups()
        if plain is not None:
            yield plain
            continue
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            width = len(first) if first.startswith("0") else 0
            for number in range(int(first), int(last or first) + 1):
                yield f"{before}{number:0{width}d}{after}"


def _ranges(numbers: list[int], width: int) -> str:
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        parts.append(f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}")
        if number is not None:
            first = last = number
    return parts[0] if len(parts) == 1 and "-" not in parts[0] else f"[{','.join(parts)}]"


# How many hosts, causes or lines one note names before it counts the rest.
MOST_NAMED = 8


class Crowd(Noun):
    """Machines that are alike in all that an answer depends on."""

    machine: Machine
    hosts: Hosts

    def to_json(self) -> dict[str, object]:
        return {**self.machine.to_json(), **self.hosts.to_json()}


class LeftOut(Noun):
    """Machines, or lines that hold none, which the answer does not count, and why."""

    hosts: Hosts
    code: str
    text: str
    hint: str = ""

    @property
    def words(self) -> str:
        who = self.hosts.brief or (f"{self.hosts.count} machines" if self.hosts.count > 1 else "")
        return f"{who}: {self.text}" if who else self.text

    def to_json(self) -> dict[str, object]:
        return {**self.hosts.to_json(), **written(self, "code", "text"), "hint": self.hint or None}


class CountedNote(Noun):
    """A note and how many machines carry it."""

    note: Note
    count: int  # type: ignore[assignment]  # nobody calls tuple.count on a note

    @property
    def text(self) -> str:
        return self.note.text if self.count == 1 else f"{self.note.text} ({self.count} machines)"


class Fleet(Noun):
    """`silent` did not answer, `unread` are lines or files without a machine, `idle` have no GPU beside others."""

    crowds: tuple[Crowd, ...]
    silent: tuple[LeftOut, ...] = ()
    unread: tuple[LeftOut, ...] = ()
    idle: tuple[LeftOut, ...] = ()
    remarks: tuple[CountedNote, ...] = ()

    @property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(crowd.machine for crowd in self.crowds)

    @property
    def count(self) -> int:  # type: ignore[override]  # nobody calls tuple.count on a fleet
        return sum(crowd.hosts.count for crowd in self.crowds)

    def count_of(self, places: Iterable[int]) -> int:
        """How many machines these are; a host that several of them name counts for each."""
        return sum(self.crowds[place].hosts.count for place in places)

    def hosts(self, places: Iterable[int]) -> Hosts:
        """The hosts of these machines together; a host that several of them name is one."""
        names, unnamed = HostNames(), 0
        for place in places:
            hosts = self.crowds[place].hosts
            named = 0
            for name in hosts.names:
                names.add(name)
                named += 1
            unnamed += hosts.count - named
        folded_hosts = names.hosts()
        return folded_hosts._replace(count=folded_hosts.count + unnamed)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return (*self.silent, *self.unread, *self.idle)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person must know of those that are left out, and what the machines themselves noted, each once."""
        summaries = [_summary("NO_ANSWER_LEFT_OUT", "did not answer and are left out", self.silent)]
        summaries.append(_summary("UNREAD_LEFT_OUT", "could not be read and are left out", self.unread))
        summaries.append(_summary("NO_GPU_LEFT_OUT", "without a GPU are left out", self.idle))
        return (
            *(note for note in summaries if note is not None),
            *(Note(remark.note.code, remark.text) for remark in self.remarks),
        )


def _summary(code: str, what: str, parts: tuple[LeftOut, ...]) -> Note | None:
    if not parts:
        return None
    count = sum(part.hosts.count for part in parts)
    noun = "lines or files" if code.startswith("UNREAD") else "machines"
    what = f"{count} {noun} {what}" if count != 1 else f"1 {_one(noun, what)}"
    if code == "NO_GPU_LEFT_OUT":
        named = [part.hosts.brief for part in parts if part.hosts.text]
        return Note(code, what + (f": {', '.join(named)}" if named else ""))
    words = [part.words for part in parts[:MOST_NAMED]]
    more = [f"and {len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    return Note(code, f"{what}: {'; '.join([*words, *more])}")


def _one(noun: str, what: str) -> str:
    singular = {"machines": "machine", "lines or files": "line or file"}[noun]
    return f"{singular} {what.replace(' are ', ' is ')}"
