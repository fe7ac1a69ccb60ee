"""Machines that are told in a file: what `torchpick detect --json` prints, a line each, or a Kubernetes node list."""

from __future__ import annotations

import json
import re
import sys

from torchpick import nodes
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.model import envelope
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.machine import Machine, Python
from torchpick.model.noun import Noun

# `kubectl get nodes -o json` is 10 to 30 kB a node; this is a cluster of several thousand.
_MOST_BYTES = 128 << 20
_MOST_MACHINES = 10_000
_HINT = "feed it lines of `torchpick detect --json`, or `kubectl get nodes -o json`"


class Told(Noun):
    """One JSON value of the input and the line it begins on."""

    line: int
    value: object


def read(where: str, python: Python) -> list[Machine]:
    """The machines of a file, or of stdin for `-`; `python` is for sources that know none (a node list).

    Raises UsageError for what cannot be read, naming the line, and DetectionError for a machine without an answer.
    """
    name = "stdin" if where == "-" else where
    try:
        if where == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open(where, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        because = getattr(error, "strerror", None) or error
        raise UsageError(f"--machine {where}: {because}", hint=_HINT) from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{name} is larger than {_MOST_BYTES >> 20} MiB", hint="feed it in parts")
    return parse(data, name, python)


def parse(data: bytes, name: str, python: Python) -> list[Machine]:
    """The machines in the bytes of such a file."""
    machines: list[Machine] = []
    for told in _values(_text(data, name), name):
        where = f"{name}, line {told.line}"
        try:
            found = _machines(told.value, where, python)
        except ShapeError as error:
            raise UsageError(f"{where}: {error}", hint=_HINT) from error
        machines += found
        if len(machines) > _MOST_MACHINES:
            raise UsageError(f"{name} holds more than {_MOST_MACHINES} machines", hint="feed it in parts")
    if not machines:
        raise UsageError(f"{name} holds no machine", hint=_HINT)
    return machines


def _text(data: bytes, name: str) -> str:
    """The text, also where PowerShell's `>` wrote UTF-16 or a byte order mark."""
    coding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(coding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}, line {line}: not {coding.removesuffix('-sig').upper()} text", hint=_HINT) from error


def _values(text: str, name: str) -> list[Told]:
    """Every JSON value of the text, one a line or spread over lines."""
    decoder = json.JSONDecoder()
    found: list[Told] = []
    at, line = 0, 1
    while True:
        blank = re.compile(r"[ \t\r\n]*").match(text, at)
        start = blank.end() if blank else at
        line += text.count("\n", at, start)
        if start == len(text):
            return found
        try:
            value, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise UsageError(f"{name}, line {error.lineno}: not JSON: {error.msg}", hint=_HINT) from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, hostile depth
            raise UsageError(f"{name}, line {line}: not JSON that a machine is written in", hint=_HINT) from error
        found.append(Told(line, value))
        line += text.count("\n", start, at)
        if len(found) > _MOST_MACHINES:
            raise UsageError(f"{name} holds more than {_MOST_MACHINES} machines", hint="feed it in parts")


def _machines(value: object, where: str, python: Python) -> list[Machine]:
    if isinstance(value, list):
        return [machine for each in value[: _MOST_MACHINES + 1] for machine in _machines_of(each, where, python)]
    return _machines_of(value, where, python)


def _machines_of(value: object, where: str, python: Python) -> list[Machine]:
    fields = Fields(value)
    if fields.has("kind") and fields.has("apiVersion"):
        return [_answering(machine, f"{where}, node {machine.name}") for machine in nodes.machines(fields, python)]
    if not fields.has("schema"):
        return [_answering(Machine.from_json(value), where)]
    if fields.number("schema") > envelope.SCHEMA:
        raise UsageError(
            f"{where}: written by a newer torchpick (schema {fields.number('schema')})", hint="update torchpick"
        )
    if fields.has("machines"):
        listed = fields.items("machines")
        found = [Machine.from_json(each, f"machines[{place}]") for place, each in enumerate(listed)]
    elif fields.has("machine") and fields.raw("machine") is not None:
        found = [Machine.from_json(fields.raw("machine"), "machine")]
    else:
        raise _of_failure(fields, where)
    if fields.has("status") and fields.raw("status") == "no_answer" and not any(each.trouble for each in found):
        raise _of_failure(fields, where)
    return [_answering(machine, where) for machine in found]


def _of_failure(fields: Fields, where: str) -> TorchpickError:
    """An envelope that holds an error in the place of a machine."""
    error = fields.maybe_object("error")
    said = (error.maybe_text("text") if error else None) or "it holds no machine"
    hint = (error.maybe_text("hint") if error else None) or _HINT
    if fields.has("status") and fields.raw("status") == "no_answer":
        return DetectionError(f"{where}: {said}", hint=hint, code=(error.maybe_text("code") if error else None))
    return UsageError(f"{where}: {said}", hint=hint)


def _answering(machine: Machine, where: str) -> Machine:
    """The machine, if its GPUs gave an answer."""
    if machine.trouble is not None:
        raise DetectionError(f"{where}: {machine.trouble.text}", hint=machine.trouble.hint, code=machine.trouble.code)
    return machine
