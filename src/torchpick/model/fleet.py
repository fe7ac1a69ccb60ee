"""Many machines: those that are alike counted once, and those that are left out, each with its cause."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.model.fields import written
from torchpick.model.hosts import HostNames, Hosts
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun

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
        found = names.hosts()
        return found._replace(count=found.count + unnamed)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return (*self.silent, *self.unread, *self.idle)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person must know of those that are left out, and what the machines themselves noted, each once."""
        found = [_summary("NO_ANSWER_LEFT_OUT", "did not answer and are left out", self.silent)]
        found.append(_summary("UNREAD_LEFT_OUT", "could not be read and are left out", self.unread))
        found.append(_summary("NO_GPU_LEFT_OUT", "without a GPU are left out", self.idle))
        return (
            *(note for note in found if note is not None),
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
