"""Machines that are given in files: what `torchpick detect --json` prints, folders of it, or a Kubernetes node list.

Merged where nothing that decides differs, so that each kind is judged once.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import IO

from torchpick.decide import several
from torchpick.environment import interpreter
from torchpick.environment.world import opened
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.indexes import first_remedies
from torchpick.machine import given, machine_lines
from torchpick.model.fields import SCHEMA, Fields, ShapeError
from torchpick.model.fleet import Crowd, Fleet, Hosts, LeftOut, is_name
from torchpick.model.machine import GpuProduct, Machine, Note, Platform, Python, version_of
from torchpick.model.pick import MACHINE_FIELDS, Request, Wish, flag_of
from torchpick.model.table import DriverTable

HINT = "pass lines of `torchpick detect --json`, or `kubectl get nodes -o json`"
# The files of a folder that are read.
_SUFFIXES = (".json", ".jsonl", ".out", ".txt")
_UNREAD = "UNREAD"
# Of what a machine or its cluster says, and so many causes.
_SHOWN, _MOST_CAUSES = 300, 1000
# What a machine says of a GPU that is there and not its job's, apart from seeing none.
_WITHOUT = ("NO_PERMISSION", "DRIVER_SILENT")
_ASSUMED = Note("GLIBC_ASSUMED", "what a cluster knows of a node does not name its C library, so it is not checked")


# What a machine may be called, before and after what it calls itself.
_Names = tuple[str | None, str | None]


class MachineGroups:
    """Takes machines one by one; `fleet` says what came together."""

    def __init__(self) -> None:
        self._kinds: dict[Machine, tuple[Machine, Counter[str | None]]] = {}
        # By code, text and hint.
        self._left: dict[tuple[str, str, str], Counter[str | None]] = {}
        self._notes: Counter[Note] = Counter()

    def add(self, machine: Machine, where: str, *names: str | None) -> None:
        """Take a machine, by the first of these names that a host can have."""
        name = _host(names)
        if machine.trouble is not None:
            self.silent(*machine.trouble, where, name)
            return
        first = machine if name == machine.name else machine._replace(name=None)
        _, count = self._kinds.setdefault(deciding(machine), (first, Counter()))
        count[name] += 1
        self._notes.update(machine.notes)

    def silent(self, code: str, text: str, hint: str, where: str, *names: str | None) -> None:
        """Count a machine that did not answer; without a name its place stands for it."""
        name = _host(names)
        cause = code, text if name or not where else f"{where}: {text}", hint
        if len(self._left) >= _MOST_CAUSES:
            cause = cause if cause in self._left else (code, "more than anybody reads, of which no cause is kept", "")
        self._left.setdefault(cause, Counter())[name] += 1

    def unread(self, where: str, why: str, *names: str | None, hint: str | None = "") -> None:
        """Count what could not be read at that place."""
        self.silent(_UNREAD, f"{where}: {why}", hint or "", "", *names)

    def fleet(self) -> Fleet:
        alone = [Hosts.of(names).count for _, names in self._kinds.values()] == [1]
        crowds = []
        for key, (first, names) in self._kinds.items():
            hosts = Hosts.of(names)
            machine = first._replace(name=first.name or hosts.text or None) if hosts.count == 1 else key
            # With several machines each note is given once, by the fleet.
            crowds.append(Crowd(machine if alone else machine._replace(notes=()), hosts))
        remarks = () if alone else tuple(self._notes.items())
        left = [LeftOut(Hosts.of(names), *cause) for cause, names in self._left.items()]
        silent = tuple(part for part in left if part.code != _UNREAD)
        unread = tuple(part for part in left if part.code == _UNREAD)
        return Fleet(tuple(crowds), silent, unread, remarks=remarks)


def _host(names: Iterable[str | None]) -> str | None:
    """The first of these names that a host can have."""
    return next((name for name in names if name and is_name(name)), None)


def deciding(machine: Machine) -> Machine:
    """The machine without what no decision and no note depends on: names, notes, and which piece of hardware it is."""
    return machine._replace(
        name=None,
        notes=(),
        gpus=tuple(gpu._replace(uuid=None, pci=None) for gpu in machine.gpus),
        python=machine.python._replace(executable=None),
    )


class Reader(MachineGroups):
    """Reads places into one fleet, with the Python and the driver of the request; GPUs are known by name."""

    def __init__(self, request: Request, knowledge: Knowledge) -> None:
        super().__init__()
        self._python = None if request.python is None else _version(request.python)
        self._driver = given.parse_driver(request, {})
        self._knowledge = knowledge

    def unanswered(self, host: str, code: str, text: str) -> None:
        """A machine that is known to exist and did not answer; what to do is in the table of causes."""
        self.silent(code, text[:_SHOWN], self._knowledge.file("errors.json", first_remedies)[code], "", host)

    def described(self, host: str, cpu: str, product: str, count: int) -> bool:
        """Whether what a cluster itself knows of a machine is enough: its GPU's name, where the driver was given."""
        gpu = self._gpu(product)
        if gpu is None or self._driver is None:
            return False
        gpus, platform = machine_lines.gpus_of_product(gpu, count), Platform("linux", cpu)
        self._take(Machine(platform, interpreter.running().python, gpus=gpus, notes=(_ASSUMED,)), "", (host, None))
        return True

    def _take(self, machine: Machine, where: str, names: _Names, has: str | None = None) -> None:
        """Take a machine, with the Python that was given, and the driver where it has none for its GPUs."""
        first, last = names
        if has and not machine.counted and (machine.trouble is None or machine.trouble.code in _WITHOUT):
            words = "" if machine.trouble is None else f"; it says: {machine.trouble.text}"
            self.unanswered(str(first), "NO_GPU_GIVEN", f"its job was given none of its {has}{words}")
            return
        if self._driver is not None and machine.driver is None and any(gpu.vendor == "nvidia" for gpu in machine.gpus):
            machine = machine._replace(driver=self._driver._replace(source="assumed"))
        machine = machine._replace(python=self._python or machine.python)
        self.add(machine, where, first, machine.name, last)

    def _gpu(self, product: str) -> GpuProduct | None:
        try:
            return self._knowledge.gpu(product, mac=False)
        except UsageError:
            return None

    def read(self, where: str) -> None:
        """Read a file, a folder of files, or stdin for `-`. UsageError where it cannot be opened."""
        try:
            if where == "-":
                self.stream(sys.stdin.buffer, "stdin")
            elif os.path.isdir(where):
                self.folder(where)
            else:
                with opened(where, pipes=True) as file:
                    self.stream(file, where)
        except (OSError, ValueError) as error:
            because = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {where}: {because}", hint=HINT) from error

    def folder(self, where: str) -> None:
        """A file a machine, as `detect --into` and `srun -o %N.json` write them: its name stands for the host's."""
        files = [name for name in os.listdir(where) if name.endswith(_SUFFIXES) and not name.startswith(".")]
        for file in sorted(name for name in files if os.path.isfile(os.path.join(where, name))):
            host = file.rsplit(".", 1)[0]
            path = os.path.join(where, file)
            try:
                with opened(path) as stream:
                    if not self.stream(stream, path, host):
                        self.silent("NO_ANSWER", "its file is empty", "run `torchpick detect` there", path, host)
            except OSError as error:
                self.unread(path, error.strerror or str(error), host)

    def stream(self, stream: IO[bytes], name: str, host: str | None = None, has: str | None = None) -> bool:
        """Whether the stream contained anything.

        A host that was asked speaks for itself alone, whatever it calls itself: then `has` is the GPU that its cluster
        knows there, or nothing.
        """
        values = [*machine_lines.read_values(stream)] if host else machine_lines.read_values(stream)
        # A file of one machine is called as the host; of several, each has its own name.
        alone = host if isinstance(values, list) and len(values) == 1 else None
        is_empty = True
        for line, prefix, value, why in values:
            is_empty = False
            where = f"{name}, line {line}"
            names = _names(prefix or alone, host) if has is None else (host, None)
            if why:
                self.unread(where, why, *names)
                continue
            for node in machine_lines.list_nodes(value):
                self._value(node, where, names, has)
        return not is_empty

    def _value(self, value: object, where: str, names: _Names, has: str | None) -> None:
        try:
            fields = Fields(value)
            if fields.has("kind") and fields.has("apiVersion") and has is None:
                node = machine_lines.machine_of_node(fields, interpreter.running().python, self._gpu)
                self._take(node, where, (None, names[1]))
            else:
                self._take(_machine(fields, value), where, names, has)
        except DetectionError as error:
            self.silent(error.code, error.message, error.hint or "", where, *names)
        except (ShapeError, TorchpickError) as error:
            hint = getattr(error, "hint", None)
            self.unread(where, str(error), *names, hint=hint)


def read_machines(request: Request, knowledge: Knowledge) -> Fleet:
    """The machines of `--machine`; flags that describe another one are refused."""
    flags = {"gpus": "--gpu", "visible_only": "--gpus visible"}
    for name in MACHINE_FIELDS:
        if name not in ("python", "machine", "trust_pci") and getattr(request, name) not in (None, False):
            flag = flags.get(name) or flag_of(name)
            hint = f"remove `{flag}`, or change the fact in the file"
            raise UsageError(f"`--machine` and `{flag}` both describe the machine", hint=hint)
    sources = request.machine or ()
    reader = Reader(request, knowledge)
    for where in sources:
        reader.read(where)
    return check_fleet(reader.fleet(), name_sources(sources), strict=request.strict)


def prepare(fleet: Fleet, table: DriverTable, wish: Wish, *, strict: bool = False) -> Fleet:
    """The machines that count, each with an assumed driver if none is known."""
    fleet = several.gpu_fleet(fleet, wish)
    if strict and fleet.idle:
        words = ", ".join(left.hosts.text or str(left.hosts) for left in fleet.idle)
        hint = "remove them from the file, or run without `--strict`"
        raise DetectionError(f"machines without a GPU among machines that have one: {words}", hint=hint, code="NO_GPU")
    return several.completed(fleet, table)


def _version(text: str) -> Python:
    version = version_of(text)
    if version is None:
        hint = "with `--machine` specify a version, such as `--python 3.12`"
        raise UsageError(f"`--python {text}` is an interpreter of this computer", hint=hint)
    return version


def _names(prefix: str | None, file: str | None) -> _Names:
    """The surest name is the one that a launcher wrote before a line; the last one is its file's.

    A launcher's task number is a name as well, where nothing better is there.
    """
    if prefix is not None and prefix.isdigit():
        return None, f"task{prefix}"
    return prefix, file


def name_sources(sources: Iterable[str]) -> str:
    """Files, folders and stdin for a sentence."""
    return ", ".join("stdin" if where == "-" else where for where in sources)


def check_fleet(fleet: Fleet, name: str, *, strict: bool = False) -> Fleet:
    """The fleet, if it has a usable machine."""
    left = (*fleet.silent, *fleet.unread[:20])
    if left and (strict or not fleet.crowds):
        hints = list(dict.fromkeys(part.hint for part in left if part.hint))
        words = [f"{part.words}; {part.hint}" if part.hint and len(hints) > 1 else part.words for part in left]
        count = sum(part.hosts.count for part in fleet.silent)
        if count > 1:
            words.insert(0, f"{count} machines did not answer")
        message, hint = "\n".join(words), next(iter(hints), HINT)
        raise DetectionError(message, hint=hint, code=left[0].code) if fleet.silent else UsageError(message, hint=hint)
    if not fleet.crowds:
        raise UsageError(f"{name} contains no machine", hint=HINT)
    return fleet


def _machine(fields: Fields, value: object) -> Machine:
    """The machine of a line: bare, or in the envelope of `detect`."""
    if not fields.has("schema"):
        return Machine.from_dict(machine_lines.expand_gpus(value))
    if fields.number("schema") > SCHEMA:
        message = f"written by a newer torchpick (schema {fields.number('schema')})"
        raise UsageError(message, hint="update torchpick")
    if fields.lacks("machine"):
        raise _of_failure(fields)
    return Machine.from_dict(machine_lines.expand_gpus(fields.raw("machine")), "machine")


def _of_failure(fields: Fields) -> TorchpickError:
    """An envelope with an error in the place of a machine."""
    error = fields.maybe_object("error") or Fields({})
    message = error.maybe_text("text") or "it contains no machine"
    hint = error.maybe_text("hint") or HINT
    if fields.has("status") and fields.raw("status") == "no_answer":
        return DetectionError(message, hint=hint, code=error.maybe_text("code"))
    return UsageError(message, hint=hint)
