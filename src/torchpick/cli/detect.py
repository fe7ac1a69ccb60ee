"""The machine as `detect` shows it, each fact with its source, and as source builds name its GPUs."""

from __future__ import annotations

import json
import os

from torchpick.cli import arguments, console, text
from torchpick.cli.arguments import Arguments
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.machine import machine_lines
from torchpick.model.fields import dumps, envelope
from torchpick.model.machine import Machine


def run(args: Arguments) -> int:
    run = console.start(args, arguments.machine_request(args))
    if args.compact and not args.json:
        raise UsageError("`--compact` requires `--json`", hint="`torchpick detect --json --compact`")
    if args.machine:
        raise UsageError("`detect` is about one machine", hint="`torchpick fleet FILE` shows the machines of a file")
    machine = run.find_machine()
    if not args.gpu and args.platform is None:
        machine = machine._replace(name=machine_lines.host_name(run.environ))
    error = machine.detection_error
    file = None if args.into is None else _write(args.into, machine.name, _line(machine, error, short=True))
    if args.json:
        line = _line(machine, error, short=args.compact)
        print(line if file is None else dumps({**json.loads(line), "files": [file]}))
    elif file is not None:
        print(file)
    else:
        print("\n".join(text.fact_table(machine, console.width())))
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


# TORCH_CUDA_ARCH_LIST `6.1;8.6`, nvcc's options, and CMAKE_CUDA_ARCHITECTURES `61-real;86-real`, machine code alone.
_FORMS = {
    "torch": (";", "{0.major}.{0.minor}"),
    "nvcc": (" ", "-gencode arch=compute_{0.major}{0.minor},code={0}"),
    "cmake": (";", "{0.major}{0.minor}-real"),
}


def run_arch(args: Arguments) -> int:
    run = console.start(args, arguments.machine_request(args))
    machines = run.find_machines() if args.machine else (run.find_machine(),)
    gpus = tuple(gpu.arch for machine in machines for gpu in machine.counted if gpu.arch)
    if not gpus:
        hint = "specify it: `torchpick arch --gpu sm_86`"
        if (trouble := next(filter(None, (machine.trouble for machine in machines)), None)) is not None:
            message = f"there is no GPU to compile for: {trouble.text}"
            raise TorchpickError(message, hint=f"{trouble.hint}; or {hint}")
        raise UsageError("there is no NVIDIA or AMD GPU to compile for", hint=hint)
    chosen = tuple(sorted({gpu for gpu in gpus if gpu.kind == "sm"}, key=lambda arch: arch.capability))
    between, form = _FORMS[args.for_ or "torch"]
    if not chosen and args.for_ == "nvcc":
        raise UsageError(
            "nvcc does not apply to AMD GPUs", hint="`--for torch` and `--for cmake` print their gfx names"
        )
    # PYTORCH_ROCM_ARCH and CMAKE_HIP_ARCHITECTURES are `gfx90a;gfx1100`.
    line = between.join(map(form.format, chosen)) or ";".join(dict.fromkeys(map(str, gpus)))
    notes = [note for machine in machines for note in machine.notes if note.code.endswith("LEFT_OUT")]
    if args.json:
        print(dumps(envelope("arch", form=args.for_, arch=line, targets=chosen, notes=notes)))
    else:
        print(line)
        console.notes(args, *notes)
    return 0
