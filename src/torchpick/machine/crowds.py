"""Machines as they are read, merged where nothing that decides differs: memory grows with kinds, not with machines."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.fleet import CountedNote, Crowd, Fleet, HostNames, LeftOut, is_name
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun

# Different complaints that are kept; later ones only count.
_MOST_CAUSES = 1_000


class _Cause(Noun):
    """Why machines are left out."""

    code: str
    text: str
    hint: str


class Crowds:
    """Takes machines one by one; `fleet` says what came together."""

    def __init__(self) -> None:
        self._kinds: dict[Machine, HostNames] = {}
        self._first: dict[Machine, Machine] = {}
        self._silent: dict[_Cause, HostNames] = {}
        self._unread: dict[_Cause, HostNames] = {}
        self._notes: dict[Note, int] = {}

    def add(self, machine: Machine, where: str, *names: str | None) -> HostNames:
        """Take a machine, by the first of these names that a host can have.

        The names it is now counted among take further machines that are equal to it.
        """
        name = self.named(*names)
        if machine.trouble is not None:
            return self.silent(*machine.trouble, where, name)
        key = deciding(machine)
        if key not in self._kinds:
            self._kinds[key] = HostNames()
            self._first[key] = machine if name == machine.name else machine._replace(name=None)
        self._kinds[key].add(name)
        self.note(machine.notes)
        return self._kinds[key]

    def named(self, *names: str | None) -> str | None:
        """The first of these that a host can be called."""
        return next((name for name in names if name and is_name(name)), None)

    def note(self, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self._notes[note] = self._notes.get(note, 0) + 1

    def silent(self, code: str, text: str, hint: str, where: str, *names: str | None) -> HostNames:
        """Count a machine that did not answer; without a name its place stands for it."""
        name = self.named(*names)
        return _counted(self._silent, _Cause(code, text if name or not where else f"{where}: {text}", hint), name)

    def unread(self, where: str, why: str, host: str | None, hint: str = "") -> None:
        """Count what could not be read at that place."""
        _counted(self._unread, _Cause("UNREAD", f"{where}: {why}", hint), self.named(host))

    def fleet(self) -> Fleet:
        alone = len(self._kinds) == 1 and sum(names.hosts().count for names in self._kinds.values()) == 1
        crowds = []
        for key, names in self._kinds.items():
            hosts = names.hosts()
            first = self._first[key]
            machine = first._replace(name=first.name or hosts.text or None) if hosts.count == 1 else key
            # With several machines each note is given once, by the fleet.
            crowds.append(Crowd(machine if alone else machine._replace(notes=()), hosts))
        remarks = () if alone else tuple(CountedNote(note, count) for note, count in self._notes.items())
        return Fleet(tuple(crowds), _parts(self._silent), _parts(self._unread), remarks=remarks)


def deciding(machine: Machine) -> Machine:
    """The machine without what no decision and no note depends on: names, notes, and which piece of hardware it is."""
    return machine._replace(
        name=None,
        notes=(),
        gpus=tuple(gpu._replace(uuid=None, pci=None) for gpu in machine.gpus),
        python=machine.python._replace(executable=None),
    )


def _counted(causes: dict[_Cause, HostNames], cause: _Cause, host: str | None) -> HostNames:
    if cause not in causes and len(causes) >= _MOST_CAUSES:
        cause = _Cause(cause.code, "and others like it", cause.hint)
    names = causes.setdefault(cause, HostNames())
    names.add(host)
    return names


def _parts(causes: Mapping[_Cause, HostNames]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(names.hosts(), *cause) for cause, names in causes.items())
