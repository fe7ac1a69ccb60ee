"""Print the architectures that a source build needs for these GPUs."""

from __future__ import annotations

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.arch import Arch
from torchpick.model.fields import dumps, envelope
from torchpick.model.machine import Machine
from torchpick.run import start_run

# TORCH_CUDA_ARCH_LIST `6.1;8.6`, nvcc's options, and CMAKE_CUDA_ARCHITECTURES `61-real;86-real`, machine code alone.
_FORMS = {
    "torch": (";", "{0.major}.{0.minor}"),
    "nvcc": (" ", "-gencode arch=compute_{0.major}{0.minor},code={0}"),
    "cmake": (";", "{0.major}{0.minor}-real"),
}


def run(args: Arguments) -> int:
    run = start_run(arguments.machine_request(args), report=console.waiting)
    machines = run.find_machines() if args.machine else (run.find_machine(),)
    gpus = tuple(gpu.arch for machine in machines for gpu in machine.counted if gpu.arch)
    if not gpus:
        raise _nothing(machines)
    chosen = tuple(sorted({gpu for gpu in gpus if gpu.kind == "sm"}, key=lambda arch: arch.capability))
    between, form = _FORMS[args.for_ or "torch"]
    line = between.join(map(form.format, chosen)) if chosen else _amd(args, gpus)
    notes = [note for machine in machines for note in machine.notes if note.code.endswith("LEFT_OUT")]
    if args.json:
        print(dumps(envelope("arch", form=args.for_, arch=line, targets=chosen, notes=notes)))
    else:
        print(line)
        console.notes(args, *notes)
    return 0


def _nothing(machines: tuple[Machine, ...]) -> TorchpickError:
    trouble = next(filter(None, (machine.trouble for machine in machines)), None)
    hint = "specify it: `torchpick arch --gpu sm_86`"
    if trouble is not None:
        return TorchpickError(f"there is no GPU to compile for: {trouble.text}", hint=f"{trouble.hint}; or {hint}")
    return UsageError("there is no NVIDIA or AMD GPU to compile for", hint=hint)


def _amd(args: Arguments, gpus: tuple[Arch, ...]) -> str:
    """PYTORCH_ROCM_ARCH and CMAKE_HIP_ARCHITECTURES: `gfx90a;gfx1100`."""
    if args.for_ == "nvcc":
        raise UsageError(
            "nvcc does not apply to AMD GPUs", hint="`--for torch` and `--for cmake` print their gfx names"
        )
    return ";".join(dict.fromkeys(map(str, gpus)))
