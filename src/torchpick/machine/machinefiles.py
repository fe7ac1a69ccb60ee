"""Machines that are given in files: what `torchpick detect --json` prints, folders of it, or a Kubernetes node list.

Merged where nothing that decides differs: memory grows with kinds, not with machines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO

from torchpick.decide import driver_numbers, several
from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.knowledge import gpuspec
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import compact_line, given, kubernetes
from torchpick.machine.streams import ListedValue, UnreadLine, values
from torchpick.model import envelope
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.fleet import CountedNote, Crowd, Fleet, HostNames, LeftOut, expanded, is_name
from torchpick.model.machine import Driver, Machine, Note, Python
from torchpick.model.noun import Noun
from torchpick.model.pythons import version_of
from torchpick.model.request import FACTS, Request, Wish, flag_of
from torchpick.model.table import DriverTable

HINT = "pass lines of `torchpick detect --json`, or `kubectl get nodes -o json`"
# The files of a folder that are read, and how many machines a row may stand for.
_SUFFIXES = (".json", ".jsonl", ".out", ".txt")
_MOST_MACHINES = 1_000_000

Named = Callable[[str], Arch | None]


class Crowds:
    """Takes machines one by one; `fleet` says what came together."""

    def __init__(self) -> None:
        self._kinds: dict[Machine, HostNames] = {}
        self._first: dict[Machine, Machine] = {}
        # By code, text and hint.
        self._silent: dict[tuple[str, str, str], HostNames] = {}
        self._unread: dict[tuple[str, str, str], HostNames] = {}
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
        cause = code, text if name or not where else f"{where}: {text}", hint
        hosts = self._silent.setdefault(cause, HostNames())
        hosts.add(name)
        return hosts

    def unread(self, where: str, why: str, host: str | None, hint: str = "") -> None:
        """Count what could not be read at that place."""
        self._unread.setdefault(("UNREAD", f"{where}: {why}", hint), HostNames()).add(self.named(host))

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


def _parts(causes: Mapping[tuple[str, str, str], HostNames]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(names.hosts(), *cause) for cause, names in causes.items())


class Reader:
    """Reads places into one fleet.

    `python` is for sources that know none (a node list), `instead` for all of them, `driver` for machines that do not
    name theirs; `named` knows GPUs by name.
    """

    def __init__(
        self,
        python: Python,
        named: Named | None = None,
        instead: Python | None = None,
        driver: Driver | None = None,
    ) -> None:
        self._python = python
        self._instead = instead
        self._driver = driver
        self._named = named
        self._crowds = Crowds()

    def fleet(self) -> Fleet:
        return self._crowds.fleet()

    def silent(self, host: str, code: str, text: str, hint: str) -> None:
        """A machine that is known to exist and did not answer."""
        self._crowds.silent(code, text, hint, "", host)

    def _completed(self, machine: Machine) -> Machine:
        """With the Python that was given, and the driver where it has none for its GPUs."""
        if self._driver is not None and machine.driver is None and any(gpu.vendor == "nvidia" for gpu in machine.gpus):
            machine = machine._replace(driver=self._driver)
        return machine if self._instead is None else machine._replace(python=self._instead)

    def place(self, where: str) -> None:
        """Read a file, a folder of files, or stdin for `-`. UsageError where it cannot be opened."""
        try:
            if where == "-":
                self.stream(sys.stdin.buffer, "stdin")
            elif os.path.isdir(where):
                self.folder(where)
            else:
                with open(where, "rb") as file:
                    self.stream(file, where)
        except (OSError, ValueError) as error:
            because = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {where}: {because}", hint=HINT) from error

    def folder(self, where: str) -> None:
        """A file a machine, as `detect --into` and `srun -o %N.json` write them: its name stands for the host's."""
        files = [name for name in os.listdir(where) if name.endswith(_SUFFIXES) and not name.startswith(".")]
        # A pipe might never end.
        for file in sorted(name for name in files if os.path.isfile(os.path.join(where, name))):
            host = file.rsplit(".", 1)[0]
            path = os.path.join(where, file)
            try:
                with open(path, "rb") as stream:
                    held = self.stream(stream, path, host)
            except OSError as error:
                self._crowds.unread(path, error.strerror or str(error), host)
                continue
            if not held:
                self._crowds.silent("NO_ANSWER", "its file is empty", "run `torchpick detect` there", path, host)

    def answer(self, stream: IO[bytes], host: str) -> bool:
        """Whether a host that was asked answered anything; it speaks for itself alone, whatever it calls itself."""
        return self.stream(stream, f"{host}'s answer", host, asked=True)

    def stream(self, stream: IO[bytes], name: str, host: str | None = None, *, asked: bool = False) -> bool:
        """Whether the stream contained anything."""
        held = False
        for listed in values(stream):
            held = True
            origin = _Origin(f"{name}, line {listed.line}", host if asked else listed.host, host, asked)
            if isinstance(listed, UnreadLine):
                self._crowds.unread(origin.where, listed.why, origin.host or host)
            else:
                self._take(listed, origin)
        return held

    def _take(self, listed: ListedValue, origin: _Origin) -> None:
        value, where = listed.value, origin.where
        for inner in value if isinstance(value, list) else (value,):
            try:
                self._machine(inner, origin)
            except ShapeError as error:
                self._crowds.unread(where, str(error), origin.host or origin.file)
            except DetectionError as error:
                self._crowds.silent(error.code, error.message, error.hint or "", where, *origin.names(None))
            except TorchpickError as error:
                self._crowds.unread(where, error.message, origin.host or origin.file, error.hint or "")

    def _machine(self, value: object, origin: _Origin) -> None:
        fields = Fields(value)
        if fields.has("kind") and fields.has("apiVersion") and not origin.asked:
            for node in kubernetes.nodes(fields):
                try:
                    machine = kubernetes.machine(node, self._python, self._named)
                    self._crowds.add(self._completed(machine), origin.where, machine.name)
                except ShapeError as error:
                    self._crowds.unread(origin.where, str(error), kubernetes.name_of(node))
            return
        for found, row in _machines(fields, value):
            machine = self._completed(found)
            hosts, count = ("", 1) if origin.asked else _others(row)
            listed = iter(expanded(hosts))
            own = origin.names(machine.name)
            names = self._crowds.add(machine, origin.where, *own[:-1], next(listed, None), *own[-1:])
            for _ in range(count - 1):
                names.add(self._crowds.named(next(listed, None)))


def listed(request: Request, knowledge: Knowledge) -> Fleet:
    """The machines of `--machine`; flags that describe another one are refused."""
    flags = {flag_of(name): getattr(request, name) for name in FACTS if name != "python"}
    for flag, value in (
        ("--gpu", request.gpus),
        *flags.items(),
        ("--gpus visible", request.visible_only or None),
        ("--only", request.only),
    ):
        if value is not None:
            hint = f"remove `{flag}`, or change the fact in the file"
            raise UsageError(f"`--machine` and `{flag}` both describe the machine", hint=hint)
    places = request.machine or ()
    reading = reader(request, knowledge)
    for where in places:
        reading.place(where)
    return checked(reading.fleet(), names(places), strict=request.strict)


def reader(request: Request, knowledge: Knowledge) -> Reader:
    """What reads machines that are given, with the Python that was asked for."""

    def named(product: str) -> Arch | None:
        try:
            gpu = gpuspec.parse(product, knowledge, mac=False)
        except UsageError:
            return None
        return gpu.arch if gpu.vendor == "nvidia" else None

    python = None if request.python is None else _version(request.python)
    return Reader(python or interpreter.own(World.here()).python, named, python, given.driver(request, {}))


def prepared(found: Fleet, table: DriverTable, wish: Wish, *, strict: bool = False) -> Fleet:
    """The machines that count, each with an assumed driver if none is known."""
    kept = several.gpu_fleet(found, wish)
    if strict and kept.idle:
        words = ", ".join(left.hosts.text or str(left.hosts) for left in kept.idle)
        hint = "remove them from the file, or run without `--strict`"
        raise DetectionError(f"machines without a GPU among machines that have one: {words}", hint=hint, code="NO_GPU")
    return several.completed(kept, lambda machine: driver_numbers.completed(machine, table))


def _version(text: str) -> Python:
    version = version_of(text)
    if version is None:
        hint = "with `--machine` specify a version, such as `--python 3.12`"
        raise UsageError(f"`--python {text}` is an interpreter of this computer", hint=hint)
    return Python(version[0], free_threaded=version[1])


class _Origin(Noun):
    """Where a machine was read: what a launcher wrote before it (or who was asked), and what its file is called."""

    where: str
    host: str | None
    file: str | None
    asked: bool

    def names(self, own: str | None) -> tuple[str | None, ...]:
        """What the machine may be called, the surest first: the name it was asked by, its own, its file's.

        A launcher's task number is a name as well, where nothing better is there.
        """
        if self.host is not None and self.host.isdigit() and not self.asked:
            return own, f"task{self.host}"
        return self.host, own, self.file


def names(places: Iterable[str]) -> str:
    """The places for a sentence."""
    return ", ".join("stdin" if where == "-" else where for where in places)


def checked(fleet: Fleet, name: str, *, strict: bool = False) -> Fleet:
    """The fleet, if it has a usable machine."""
    if fleet.silent and (strict or not fleet.crowds):
        first = fleet.silent[0]
        words = "\n".join(left.words for left in fleet.silent)
        count = sum(left.hosts.count for left in fleet.silent)
        message = words if count == 1 else f"{count} machines did not answer\n{words}"
        raise DetectionError(message, hint=first.hint or HINT, code=first.code)
    if fleet.unread and (strict or not fleet.crowds):
        raise UsageError("\n".join(left.text for left in fleet.unread[:20]), hint=fleet.unread[0].hint or HINT)
    if not fleet.crowds:
        raise UsageError(f"{name} contains no machine", hint=HINT)
    return fleet


def _others(row: object) -> tuple[str, int]:
    """Where an answer's own `machines` is read back, one of them stands for `hosts`, or for `count` without names."""
    hosts, count = (row.get("hosts"), row.get("count")) if isinstance(row, dict) else (None, None)
    listed = count if type(count) is int and 1 < count <= _MOST_MACHINES else 1
    return (hosts, listed) if isinstance(hosts, str) else ("", listed)


def _machines(fields: Fields, value: object) -> Iterable[tuple[Machine, object]]:
    if not fields.has("schema"):
        yield Machine.from_json(compact_line.expanded(value)), value
        return
    if fields.number("schema") > envelope.SCHEMA:
        message = f"written by a newer torchpick (schema {fields.number('schema')})"
        raise UsageError(message, hint="update torchpick")
    if fields.has("machines"):
        for place, each in enumerate(fields.items("machines")):
            yield Machine.from_json(compact_line.expanded(each), f"machines[{place}]"), each
    elif fields.has("machine") and fields.raw("machine") is not None:
        machine = Machine.from_json(compact_line.expanded(fields.raw("machine")), "machine")
        if fields.has("status") and fields.raw("status") == "no_answer" and machine.trouble is None:
            raise _of_failure(fields)
        yield machine, None
    else:
        raise _of_failure(fields)


def _of_failure(fields: Fields) -> TorchpickError:
    """An envelope with an error in the place of a machine."""
    error = fields.maybe_object("error")
    said = (error.maybe_text("text") if error else None) or "it contains no machine"
    hint = (error.maybe_text("hint") if error else None) or HINT
    if fields.has("status") and fields.raw("status") == "no_answer":
        return DetectionError(said, hint=hint, code=(error.maybe_text("code") if error else None))
    return UsageError(said, hint=hint)
