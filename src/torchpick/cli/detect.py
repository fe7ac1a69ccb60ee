"""The machine's facts, each with its source."""

from __future__ import annotations

import json
import os

from torchpick.cli import arguments, console, facts
from torchpick.cli.arguments import Arguments
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, UsageError
from torchpick.machine import machine_lines
from torchpick.machine.given import detection_error
from torchpick.model.fields import dumps, envelope
from torchpick.model.machine import Machine
from torchpick.run import start_run


def run(args: Arguments) -> int:
    run = start_run(arguments.machine_request(args), report=console.waiting)
    if args.compact and not args.json:
        raise UsageError("`--compact` requires `--json`", hint="`torchpick detect --json --compact`")
    if args.machine:
        raise UsageError("`detect` is about one machine", hint="`torchpick fleet FILE` shows the machines of a file")
    machine = run.find_machine()
    if not args.gpu and args.platform is None:
        machine = machine._replace(name=machine_lines.host_name(run.environ))
    error = detection_error(machine)
    file = None if args.into is None else _write(args.into, machine.name, _line(machine, error, short=True))
    if args.json:
        line = _line(machine, error, short=args.compact)
        print(line if file is None else dumps({**json.loads(line), "files": [file]}))
    elif file is not None:
        print(file)
    else:
        print("\n".join(facts.lines(machine, console.width())))
    if error is not None and not args.json:
        console.error(error)
    return 0 if error is None else error.exit_status


def _line(machine: Machine, error: DetectionError | None, *, short: bool) -> str:
    if short:
        return machine_lines.write_line(machine)
    if error is not None:
        return console.error_json(error, "detect")
    return dumps(envelope("detect", machine=machine))


def _write(folder: str, name: str | None, line: str) -> str:
    """Write DIR/HOST.json, completely or not at all."""
    if name is None:
        raise UsageError("a specified machine has no host name", hint="use `--json` instead of `--into`")
    file = os.path.join(folder, f"{machine_lines.file_name(name)}.json")
    rewrite.folder(folder)
    # Others may write here too: a link that one of them laid must not lead to a file of the one who runs this.
    rewrite.put(file, line + "\n", follow=False)
    return file
