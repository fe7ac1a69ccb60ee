"""Host names of many machines, kept and written as clusters write them: `n[1-400],login`."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice

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
        found: dict[tuple[str, int, str], set[int]] = {}
        widths: dict[tuple[str, str], set[int]] = {}
        for before, width, after in self._numbered:
            if width:
                widths.setdefault((before, after), set()).add(width)
        for (before, width, after), numbers in self._numbered.items():
            padded = widths.get((before, after), set())
            if width or not padded:
                found.setdefault((before, width, after), set()).update(numbers)
                continue
            for number in numbers:
                length = len(str(number))
                found.setdefault((before, length if length in padded else 0, after), set()).add(number)
        for key, unique in found.items():
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
