"""Many machines: their names, those that are alike counted once, and those that are left out, each with its cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from torchpick.model.fields import written
from torchpick.model.machine import Machine, Note

# The last number of the host's own label; what follows its first dot is the domain.
_NUMBERED = re.compile(r"([^.]*?[^0-9.])([0-9]{1,18})([^0-9.]*(?:\..*)?)")
_RANGE = r"[0-9]{1,18}(?:-[0-9]{1,18})?"
_RANGES = re.compile(rf"([^\[\],]*)\[({_RANGE}(?:,{_RANGE})*)\]([^\[\],]*)|([^,]+)")
# What a host can be called, also as `user@host`, `host:port` or by an IPv6 address with its zone: one word, no option.
_NAME = re.compile(r"[\w:][\w.@:%-]{0,252}")
_BRIEF = 160


class Hosts(NamedTuple):
    """The names of machines, and how many more there are without one."""

    names: tuple[str, ...] = ()
    unnamed: int = 0

    @classmethod
    def of(cls, times: Mapping[str | None, int]) -> Hosts:
        """How often each name came; one that came twice is one machine."""
        return cls(tuple(name for name in times if name), sum(times[name] for name in times if not name))

    @property
    def count(self) -> int:  # type: ignore[override]  # nobody calls tuple.count on hosts
        return len(self.names) + self.unnamed

    @property
    def text(self) -> str:
        """The names in ranges, `n[1-3],login`; empty where none has one."""
        return folded(self.names)

    @property
    def brief(self) -> str:
        """The names for a sentence: no more than a line of them."""
        text = self.text
        return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}… ({self.count} in all)"

    @property
    def heading(self) -> tuple[str, ...]:
        """The line above what is said of them; none for a machine alone that has no name."""
        return (str(self),) if self.names or self.unnamed > 1 else ()

    def __str__(self) -> str:
        machines = f"{self.count} machine{'' if self.count == 1 else 's'}"
        return f"{machines}: {self.brief}" if self.names else machines

    def to_dict(self) -> dict[str, object]:
        """How many machines, and their names in ranges, null where none has one."""
        return {"count": self.count, "hosts": self.text or None}


def is_name(text: str) -> bool:
    """Whether a host can be called so. Names are written into lists of hosts, scripts and comments as they are."""
    return _NAME.fullmatch(text) is not None


def folded(names: Iterable[str]) -> str:
    """These names, with a range for numbers that follow each other: `n[08-10,12].x,login`."""
    parts: list[tuple[str, str]] = []
    numbered: dict[tuple[str, str], list[str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            parts.append((name, name))
        else:
            numbered.setdefault((match[1], match[3]), []).append(match[2])
    parts += [(before + after, before + _ranges(numbers) + after) for (before, after), numbers in numbered.items()]
    return ",".join(text for _, text in sorted(parts))


def _ranges(numbers: list[str]) -> str:
    runs: list[list[str]] = []
    for number in sorted(numbers, key=lambda number: (len(number), number)):
        if runs and number == f"{int(runs[-1][-1]) + 1:0{len(runs[-1][-1])}d}":
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    parts = ["-".join(run) for run in runs]
    return parts[0] if parts == [numbers[0]] else f"[{','.join(parts)}]"


def expanded(text: str) -> Iterator[str]:
    """The names behind `n[1-3],login`."""
    for match in _RANGES.finditer(text):
        before, ranges, after, plain = match.groups()
        if plain is not None:
            yield plain
            continue
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield f"{before}{number:0{len(first)}d}{after}"


# How many hosts, causes or lines one note names before it counts the rest.
MOST_NAMED = 8


class Crowd(NamedTuple):
    """Machines that are alike in all that an answer depends on."""

    machine: Machine
    hosts: Hosts

    def to_dict(self) -> dict[str, object]:
        return {**self.machine.to_dict(), **self.hosts.to_dict()}


class LeftOut(NamedTuple):
    """Machines, or lines that hold none, which the answer does not count, and why."""

    hosts: Hosts
    code: str
    text: str
    hint: str = ""

    @property
    def words(self) -> str:
        who = self.hosts.brief or (f"{self.hosts.count} machines" if self.hosts.count > 1 else "")
        return f"{who}: {self.text}" if who else self.text

    def to_dict(self) -> dict[str, object]:
        return {**self.hosts.to_dict(), **written(self, "code", "text"), "hint": self.hint or None}


class Fleet(NamedTuple):
    """`silent` did not answer, `unread` are lines or files without a machine, `idle` have no GPU beside others.

    `remarks` are what the machines themselves noted, each with the number of those that did.
    """

    crowds: tuple[Crowd, ...]
    silent: tuple[LeftOut, ...] = ()
    unread: tuple[LeftOut, ...] = ()
    idle: tuple[LeftOut, ...] = ()
    remarks: tuple[tuple[Note, int], ...] = ()

    @property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(crowd.machine for crowd in self.crowds)

    @property
    def count(self) -> int:  # type: ignore[override]  # nobody calls tuple.count on a fleet
        return sum(crowd.hosts.count for crowd in self.crowds)

    def hosts(self, places: Iterable[int]) -> Hosts:
        """The hosts of these machines together; a host that several of them name is one."""
        each = [self.crowds[place].hosts for place in places]
        names = dict.fromkeys(name for hosts in each for name in hosts.names)
        return Hosts(tuple(names), sum(hosts.unnamed for hosts in each))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return (*self.silent, *self.unread, *self.idle)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person must know of those that are left out, and what the machines themselves noted."""
        by_code = {"NO_ANSWER_LEFT_OUT": self.silent, "UNREAD_LEFT_OUT": self.unread, "NO_GPU_LEFT_OUT": self.idle}
        return (*(_summary(code, left) for code, left in by_code.items() if left), *self.own_notes)

    @property
    def own_notes(self) -> tuple[Note, ...]:
        """What the machines themselves noted, each once."""
        return tuple(
            note if count == 1 else Note(note.code, f"{note.text} ({count} machines)") for note, count in self.remarks
        )


def _summary(code: str, left: tuple[LeftOut, ...]) -> Note:
    """How many are left out for one reason, who, and why."""
    count = sum(part.hosts.count for part in left)
    more = [f"and {len(left) - MOST_NAMED} more"] if len(left) > MOST_NAMED else []
    words = "; ".join([*(part.words for part in left[:MOST_NAMED]), *more])
    return Note(code, f"{count} machine{'' if count == 1 else 's'} left out: {words}")
