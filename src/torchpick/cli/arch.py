"""Print the architectures that a source build needs for these GPUs."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.errors import ToolkitError, TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.fields import dumps, envelope
from torchpick.model.generations import Toolkits, targets
from torchpick.model.machine import Machine
from torchpick.model.versions import is_dotted, span
from torchpick.session import Session


class ArchArguments(Arguments):
    for_: str
    cuda: str | None


def run(args: ArchArguments) -> int:
    session = Session(arguments.machine_request(args), report=console.waiting)
    machines = session.machines if args.machine else (session.machine,)
    gpus = tuple(gpu.arch for machine in machines for gpu in machine.counted if gpu.arch is not None)
    if not gpus:
        raise _nothing(machines)
    if all(gpu.kind == "gfx" for gpu in gpus):
        chosen: tuple[Arch, ...] = ()
        line = _amd(args, gpus)
    else:
        chosen = _chosen(args, tuple(gpu for gpu in gpus if gpu.kind == "sm"), session.knowledge)
        line = {"torch": _torch, "nvcc": _nvcc, "cmake": _cmake}[args.for_](chosen)
    if args.json:
        print(dumps(envelope("arch", form=args.for_, cuda=args.cuda, arch=line, targets=chosen)))
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
    if args.for_ == "nvcc" or args.cuda:
        hint = "`--for torch` and `--for cmake` print their gfx names"
        raise UsageError("nvcc and `--cuda` do not apply to AMD GPUs", hint=hint)
    return ";".join(dict.fromkeys(map(str, gpus)))


def _chosen(args: ArchArguments, gpus: tuple[Arch, ...], knowledge: Knowledge) -> tuple[Arch, ...]:
    if args.cuda is None:
        return tuple(sorted(set(gpus), key=lambda arch: arch.capability))
    if not is_dotted(args.cuda) or args.cuda.count(".") not in (1, 2):
        raise UsageError(f"`{args.cuda}` is not a valid CUDA version", hint="such as 12.6; `nvcc --version` prints it")
    toolkits = knowledge.file("drivers.json", Toolkits.from_json)
    nearest = toolkits.nearest(args.cuda)
    if nearest is None:
        known = ", ".join(toolkits.lists)
        raise UsageError(f"CUDA {args.cuda} is not a known toolkit", hint=f"known are {known}")
    found, left = targets(gpus, toolkits.lists[nearest])
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


def _torch(arches: Iterable[Arch]) -> str:
    """TORCH_CUDA_ARCH_LIST: `6.1;8.6`."""
    return ";".join(f"{arch.major}.{arch.minor}" for arch in arches)


def _nvcc(arches: Iterable[Arch]) -> str:
    """`-gencode` options."""
    return " ".join(f"-gencode arch=compute_{arch.major}{arch.minor},code={arch}" for arch in arches)


def _cmake(arches: Iterable[Arch]) -> str:
    """CMAKE_CUDA_ARCHITECTURES: `61-real;86-real`, machine code alone."""
    return ";".join(f"{arch.major}{arch.minor}-real" for arch in arches)
