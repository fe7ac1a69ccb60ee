"""The machine's facts, each with its source.

examples:
  torchpick detect                      what is here, and who says so
  torchpick detect --json               one line, fit for --machine
  torchpick detect --json | ssh other torchpick --machine -
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import question, shipped
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import text
from torchpick.errors import DetectionError
from torchpick.model import envelope
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)


def run(args: Asked) -> int:
    request = arguments.machine_request(args)
    if request.machine is not None:
        return _listed(question.listed(request), args)
    machine = question.machine_of(request, os.environ, shipped.rules(os.environ), console.waiting)
    trouble = machine.trouble
    error = None if trouble is None else DetectionError(trouble.text, hint=trouble.hint, code=trouble.code)
    facts = machine.to_json()
    if args.json:
        told = (
            envelope.new("detect", machine=facts)
            if error is None
            else envelope.of_error(error, "detect", machine=facts)
        )
        print(envelope.dumps(told))
    else:
        print("\n".join(lines(machine)))
        if error is not None:
            sys.stdout.flush()
            print(text.error(error), file=sys.stderr)
    return 0 if error is None else error.exit_status


def _listed(machines: tuple[Machine, ...], args: Asked) -> int:
    """Machines of a file, read back and shown: a way to see what a fleet's file says."""
    if args.json:
        told = envelope.new("detect", machine=None, machines=[machine.to_json() for machine in machines])
        print(envelope.dumps(told))
    else:
        print("\n\n".join("\n".join(lines(machine)) for machine in machines))
    return 0


def lines(machine: Machine) -> list[str]:
    """The facts as a person reads them: what, which, and from where."""
    rows = [
        ("platform", _platform(machine.platform), ""),
        ("python", _python(machine.python), machine.python.source),
        *_driver(machine.driver),
        *[(f"gpu {gpu.index}", _gpu(gpu), gpu.source) for gpu in machine.gpus],
    ]
    if not machine.gpus:
        rows.append(("gpu", 'no GPU was found; `--gpu sm_86` or `--gpu "RTX 3090"` names one that is elsewhere', ""))
    wide = max(len(what) for what, _, _ in rows)
    told = [
        f"{what:<{wide}}  {text.plain(fact)}{f'  [{text.plain(source)}]' if source else ''}"
        for what, fact, source in rows
    ]
    notes = [f"note: {text.plain(note.text)}" for note in machine.notes]
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
        rows.append(("cuda", f"{driver.cuda}, as the driver speaks it", driver.cuda_source or "unknown"))
    return rows


def _gpu(gpu: Gpu) -> str:
    parts = [gpu.name or "an unnamed GPU", str(gpu.arch) if gpu.arch else "capability unknown", gpu.pci, gpu.uuid]
    marks = [
        ("integrated", gpu.integrated),
        ("hidden by CUDA_VISIBLE_DEVICES", not gpu.visible),
        ("left out", not gpu.counted),
    ]
    return ", ".join([part for part in parts if part] + [word for word, true in marks if true])
