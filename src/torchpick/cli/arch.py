"""Print the architectures that a source build needs for these GPUs.

One line, ready for a variable: TORCH_CUDA_ARCH_LIST (or PYTORCH_ROCM_ARCH), options of nvcc, or
CMAKE_CUDA_ARCHITECTURES. With --cuda only what that toolkit can compile; if it cannot, the error names one that can
(exit status 3).

examples:
  TORCH_CUDA_ARCH_LIST="$(torchpick arch)" pip install --no-build-isolation flash-attn
  nvcc $(torchpick arch --for nvcc --gpu sm_86) kernel.cu
  cmake -DCMAKE_CUDA_ARCHITECTURES="$(torchpick arch --for cmake --cuda 12.6)" ..
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.errors import ToolkitError, TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model import envelope
from torchpick.model.arch import Arch
from torchpick.model.generations import CompileTarget, Toolkits, targets
from torchpick.model.machine import Machine
from torchpick.model.versions import is_dotted, span
from torchpick.session import Session

_FORMS = ("torch", "nvcc", "cmake")


class ArchArguments(Arguments):
    form: str
    cuda: str | None
    ptx: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--for", dest="form", choices=_FORMS, default="torch", help="the reader (torch)")
    parser.add_argument("--cuda", metavar="X.Y", help="only what this CUDA toolkit can compile")
    parser.add_argument("--ptx", action="store_true", help="also PTX of the newest, for future GPUs")
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)


def run(args: ArchArguments) -> int:
    session = Session(arguments.machine_request(args), report=console.waiting)
    machines = session.machines if args.machine is not None else (session.machine,)
    gpus = tuple(gpu.arch for machine in machines for gpu in machine.counted if gpu.arch is not None)
    if not gpus:
        raise _nothing(machines)
    if all(gpu.kind == "gfx" for gpu in gpus):
        chosen: tuple[CompileTarget, ...] = ()
        line = _amd(args, gpus)
    else:
        chosen = _chosen(args, tuple(gpu for gpu in gpus if gpu.kind == "sm"), session.knowledge)
        line = {"torch": _torch, "nvcc": _nvcc, "cmake": _cmake}[args.form](chosen)
    if args.json:
        facts = [{"arch": str(each.arch), "ptx": each.ptx} for each in chosen]
        print(envelope.dumps(envelope.new("arch", form=args.form, cuda=args.cuda, arch=line, targets=facts)))
    else:
        print(line)
    return 0


def _nothing(machines: tuple[Machine, ...]) -> TorchpickError:
    trouble = next((machine.trouble for machine in machines if machine.trouble is not None), None)
    hint = "specify it: `torchpick arch --gpu sm_86`"
    if trouble is not None:
        return TorchpickError(f"there is no GPU to compile for: {trouble.text}", hint=f"{trouble.hint}; or {hint}")
    return UsageError("there is no GPU to compile for", hint=hint)


def _amd(args: ArchArguments, gpus: tuple[Arch, ...]) -> str:
    """PYTORCH_ROCM_ARCH and CMAKE_HIP_ARCHITECTURES: `gfx90a;gfx1100`."""
    if args.form == "nvcc" or args.cuda or args.ptx:
        hint = "`--for torch` and `--for cmake` print their gfx names"
        raise UsageError("nvcc, `--cuda` and `--ptx` do not apply to AMD GPUs", hint=hint)
    return ";".join(dict.fromkeys(map(str, gpus)))


def _chosen(args: ArchArguments, gpus: tuple[Arch, ...], knowledge: Knowledge) -> tuple[CompileTarget, ...]:
    if args.cuda is None:
        return targets(gpus, None, ptx=args.ptx).compiled
    if not is_dotted(args.cuda) or args.cuda.count(".") not in (1, 2):
        raise UsageError(f"`{args.cuda}` is not a valid CUDA version", hint="such as 12.6; `nvcc --version` prints it")
    toolkits = knowledge.file("drivers.json", Toolkits.from_json)
    nearest = toolkits.nearest(args.cuda)
    if nearest is None:
        known = ", ".join(toolkits.lists)
        raise UsageError(f"CUDA {args.cuda} is not a known toolkit", hint=f"known are {known}")
    found, left = targets(gpus, toolkits.lists[nearest], ptx=args.ptx)
    if left:
        raise _unable(args.cuda, left, toolkits, gpus)
    return found


def _unable(cuda: str, left: tuple[Arch, ...], toolkits: Toolkits, gpus: tuple[Arch, ...]) -> ToolkitError:
    able = [each for each in toolkits.lists if all(each in toolkits.able(gpu) for gpu in gpus)]
    message = f"CUDA {cuda} does not compile for {', '.join(map(str, left))}"
    if able:
        return ToolkitError(message, hint=f"CUDA {span(able)} compiles for all of them")
    spans = []
    for gpu in dict.fromkeys(gpus):
        mine = toolkits.able(gpu)
        spans.append(f"{gpu}: CUDA {span(mine)}" if mine else f"{gpu}: none that is known")
    return ToolkitError(f"{message}, and no toolkit does for all", hint="build twice; " + "; ".join(spans))


def _torch(targets: Iterable[CompileTarget]) -> str:
    """TORCH_CUDA_ARCH_LIST: `6.1;8.6+PTX`."""
    return ";".join(f"{each.arch.major}.{each.arch.minor}{'+PTX' if each.ptx else ''}" for each in targets)


def _nvcc(targets: Iterable[CompileTarget]) -> str:
    """`-gencode` options."""
    found = []
    for each in targets:
        number = f"{each.arch.major}{each.arch.minor}"
        found.append(f"-gencode arch=compute_{number},code=sm_{number}")
        if each.ptx:
            found.append(f"-gencode arch=compute_{number},code=compute_{number}")
    return " ".join(found)


def _cmake(targets: Iterable[CompileTarget]) -> str:
    """CMAKE_CUDA_ARCHITECTURES: `61-real;86`, where the bare number is machine code and PTX."""
    return ";".join(f"{each.arch.major}{each.arch.minor}{'' if each.ptx else '-real'}" for each in targets)
