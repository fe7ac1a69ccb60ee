"""The machine's facts, each with its source.

examples:
  torchpick detect                      what is here, and which source says so
  torchpick detect --json               one line, fit for --machine
  torchpick detect --json --compact     the same in less than 1,000 bytes, for launchers that cut long lines
  torchpick detect --into nodes         write nodes/HOST.json, for --machine nodes
  torchpick detect --json | ssh other torchpick --machine -
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import text
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, UsageError
from torchpick.machine import compact_line
from torchpick.model import envelope
from torchpick.model.machine import CODE_VENDORS, Driver, Gpu, Machine, Platform, Python
from torchpick.session import Session


class DetectArguments(Arguments):
    compact: bool
    into: str | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--compact", action="store_true", help="with --json: only what decides, equal GPUs once")
    parser.add_argument("--into", metavar="DIR", help="write DIR/HOST.json, in the compact form")
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)


def run(args: DetectArguments) -> int:
    arguments.check_file("--into", args.into, "--into nodes")
    session = Session(arguments.machine_request(args), report=console.waiting)
    if args.compact and not args.json:
        raise UsageError("`--compact` requires `--json`", hint="`torchpick detect --json --compact`")
    if args.machine is not None:
        raise UsageError("`detect` is about one machine", hint="`torchpick fleet FILE` shows the machines of a file")
    machine = session.machine
    if args.gpu is None and args.platform is None:
        machine = machine._replace(name=compact_line.host_name(session.environ))
    trouble = machine.trouble
    error = (
        None if trouble is None else DetectionError(trouble.text, hint=trouble.hint, code=trouble.code, machine=machine)
    )
    file = None if args.into is None else _write(args.into, machine.name, _line(machine, error, short=True))
    if args.json:
        line = _line(machine, error, short=args.compact)
        print(line if file is None else envelope.dumps({**json.loads(line), "files": [file]}))
    elif file is not None:
        print(file)
    else:
        print("\n".join(lines(machine)))
    if error is not None and not args.json:
        console.error(error)
    return 0 if error is None else error.exit_status


def _line(machine: Machine, error: DetectionError | None, *, short: bool) -> str:
    if not short:
        if error is not None:
            return console.error_json(error, "detect")
        return envelope.dumps(envelope.new("detect", machine=machine))
    return compact_line.line(machine)


def _write(folder: str, name: str | None, line: str) -> str:
    """Write DIR/HOST.json, completely or not at all."""
    if name is None:
        raise UsageError("a specified machine has no host name", hint="use `--json` instead of `--into`")
    file = os.path.join(folder, f"{compact_line.file_name(name)}.json")
    rewrite.folder(folder)
    # Others may write here too: a link that one of them laid must not lead to a file of the one who runs this.
    rewrite.put(file, line + "\n", follow=False)
    return file


def lines(machine: Machine) -> list[str]:
    """The facts as a table: what, which, and from where."""
    rows = [
        ("platform", _platform(machine.platform), ""),
        ("python", _python(machine.python), machine.python.source),
        *_driver(machine.driver),
        *[(f"gpu {gpu.index}", _gpu(gpu), gpu.source) for gpu in machine.gpus],
    ]
    if not machine.gpus:
        # Where something did not answer, nothing is known of a GPU; the error says what it was.
        found = "no GPU was found" if machine.trouble is None else "it is not known whether there is one"
        rows.append(("gpu", f'{found}; `--gpu sm_86` or `--gpu "RTX 3090"` specifies a GPU of another machine', ""))
    wide = max(len(what) for what, _, _ in rows)
    told = [
        f"{what:<{wide}}  {text.plain(fact)}{f'  [{text.plain(source)}]' if source else ''}"
        for what, fact, source in rows
    ]
    notes = [text.note(note.text) for note in machine.notes]
    return [*told, *([""] if notes else []), *notes]


def _platform(platform: Platform) -> str:
    if platform.os != "linux":
        return platform.name
    libc = f"glibc {platform.glibc}" if platform.glibc else platform.libc or "C library unknown"
    return f"{platform.name}, {libc}"


def _python(python: Python) -> str:
    where = f", {python.executable}" if python.executable else ""
    return f"{python.version} ({python.tag}){where}"


def _driver(driver: Driver | None) -> list[tuple[str, str, str]]:
    if driver is None:
        return []
    rows = []
    if driver.version is not None:
        rows.append(("driver", driver.version, driver.source))
    if driver.cuda is not None:
        rows.append(("cuda", f"{driver.cuda}, supported by the driver", driver.cuda_source or "unknown"))
    return rows


def _gpu(gpu: Gpu) -> str:
    # Apple's and Intel's GPUs need no code of their own in the wheel, so they have no capability.
    unknown = "capability unknown" if gpu.vendor in CODE_VENDORS else None
    parts = [gpu.name or "an unnamed GPU", str(gpu.arch) if gpu.arch else unknown, gpu.pci, gpu.uuid]
    marks = [
        ("integrated", gpu.integrated),
        ("hidden by CUDA_VISIBLE_DEVICES", not gpu.visible),
        ("left out", not gpu.counted),
    ]
    return ", ".join([part for part in parts if part] + [word for word, true in marks if true])
