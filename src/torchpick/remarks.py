"""What goes with an answer: what would have to change, and what a person should know of the pick. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.model.arch import Fit, best
from torchpick.model.build import Build
from torchpick.model.libraries import below
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.table import Table
from torchpick.model.verdict import Change, Reason, Verdict
from torchpick.model.versions import is_dotted, numbers

# What fails where a library of torch holds no code for the GPU.
NEEDS = {
    "torch_cuda_linalg": "torch.linalg on matrices (solve, qr, svd, eigh …)",
    "torch_nvshmem": "symmetric memory between GPUs",
}


def changes(considered: Iterable[Verdict]) -> tuple[Change, ...]:
    """What one thing would have to be different: for each kind of reason the best build with no other objection."""
    found: dict[Reason, Change] = {}
    gentlest: Verdict | None = None
    for verdict in considered:
        if len(verdict.reasons) != 1 or verdict.rank.suits < 2:
            continue
        (reason,) = verdict.reasons
        if reason in _MENDABLE and reason not in found:
            found[reason] = _change(reason, verdict)
        if reason is Reason.DRIVER_TOO_OLD and (gentlest is None or _needs(verdict) < _needs(gentlest)):
            gentlest = verdict
    answer = [*found.values()]
    newest = found.get(Reason.DRIVER_TOO_OLD)
    if newest is not None and gentlest is not None and _needs(gentlest) < _needs(newest.verdict):
        # The newest build may ask for a driver that the machine cannot have; the smallest step is worth knowing.
        answer.insert(answer.index(newest) + 1, _change(Reason.DRIVER_TOO_OLD, gentlest))
    return tuple(answer)


def _change(reason: Reason, verdict: Verdict) -> Change:
    return Change(reason.name, _MENDABLE[reason].format_map(_change_facts(verdict)), verdict)


def _needs(verdict: Verdict) -> tuple[int, ...]:
    return max(numbers(_digits(each.facts.get("needs", ""))) for each in verdict.objections)


_MENDABLE = {
    Reason.NOT_REQUESTED: "without that pin: torch {version}",
    Reason.COMPANION_MISSING: "without that companion: torch {version}",
    Reason.BACKEND_NOT_ALLOWED: "with `--backend {backend}`: torch {version}",
    Reason.NO_WHEEL_FOR_PYTHON: "with Python {python}: torch {version}",
    Reason.DRIVER_TOO_OLD: "with driver {needs} or newer: torch {version}",
    Reason.PTX_ONLY_DRIVER_TOO_OLD: "with a driver that speaks CUDA {cuda}: torch {version}",
    Reason.GLIBC_TOO_OLD: "on a system with glibc {needs}: torch {version}",
    Reason.GPU_NOT_SERVED_BY_DRIVER: "with {mends}: torch {version}",
    Reason.UNCONFIRMED: "with `--allow-unconfirmed`, if it was published after all: torch {version}",
}


def _change_facts(verdict: Verdict) -> dict[str, str]:
    from torchpick.model.pythons import python_name, python_order

    build = verdict.build
    newest = max(build.pythons, key=python_order, default="")
    hardest = max(verdict.objections, key=lambda each: numbers(_digits(each.facts.get("needs", ""))))
    return {
        **hardest.facts,
        "version": build.version,
        "backend": build.backend,
        "cuda": build.cuda or "",
        "python": python_name(newest).removeprefix("Python "),
    }


def _digits(text: str) -> str:
    return text if is_dotted(text) else "0"


def notes(verdict: Verdict, machine: Machine, table: Table, considered: Iterable[Verdict]) -> tuple[Note, ...]:
    """What a person should know of the chosen build."""
    build = verdict.build
    found = []
    if not machine.counted and build.family != "xpu":
        found.append(_no_gpu(machine, build))
    jit = [fit.gpu for fit in verdict.fits if fit.fit is Fit.JIT]
    if jit:
        found.append(Note("JIT_ONLY", "the driver compiles its code at first use, which takes minutes once"))
    if not verdict.native and verdict.fits:
        found.append(
            Note(
                "MINOR_VERSION_COMPATIBILITY", f"CUDA {build.cuda} on this driver leans on minor-version compatibility"
            )
        )
    found.extend(_library_notes(verdict, machine, table, considered))
    if build.published is None:
        found.append(Note("UNCONFIRMED", "nobody has seen this build published"))
    if build.companion_basis == "inferred" and any(build.companions.values()):
        found.append(
            Note("COMPANION_UNVERIFIED", "which torchvision belongs to it was inferred from the release dates")
        )
    return tuple(found)


def _no_gpu(machine: Machine, build: Build) -> Note:
    if machine.platform.name == "macos-arm64":
        return Note("MPS", "the plain wheel; torch reaches the Apple GPU through its mps device")
    if build.family == "cpu":
        found = "no GPU that PyTorch has code for was found" if machine.gpus else "no GPU was found"
        return Note("NO_GPU_FOUND", f"{found}, so this is the cpu build; `--gpu` tells one that is elsewhere")
    return Note("NO_GPU_FOUND", "no GPU was told or found, so neither GPU nor driver was judged")


def _library_notes(verdict: Verdict, machine: Machine, table: Table, considered: Iterable[Verdict]) -> list[Note]:
    build = verdict.build
    if build.family != "cuda" or not machine.counted:
        return []
    found = []
    for gpu in machine.counted:
        for library in lacking(build, gpu):
            whole = next(
                (v for v in considered if v.ok and not any(lacking(v.build, g) for g in machine.counted)), None
            )
            way = f"; the newest build not known to lack it is {whole.build.version} (`--whole`)" if whole else ""
            needs = next((what for part, what in NEEDS.items() if part in library), "what needs it")
            text = f"{library} in it was built without {gpu.label} for the most part, so {needs} fails there{way}"
            found.append(Note("PARTIAL_LIBRARY", text))
    for gpu in machine.counted if len(machine.counted) > 1 else ():
        if gap := nccl_gap(build, gpu, table):
            library, words = gap
            text = f"{library} in it serves {words} and newer: {gpu.label} cannot join other GPUs"
            found.append(Note("PARTIAL_LIBRARY", text))
    if "cudnn" not in build.libraries and any(gpu.arch and gpu.arch.capability < (7, 5) for gpu in machine.counted):
        text = "which cuDNN it carries is not known, nor whether that one still serves this GPU"
        found.append(Note("LIBRARY_UNVERIFIED", text))
    return found


def nccl_gap(build: Build, gpu: Gpu, table: Table) -> tuple[str, str] | None:
    """NCCL of the build and what it serves, where this GPU is older than that; only several GPUs need it."""
    nccl = build.libraries.get("nccl")
    if nccl is None or build.cuda is None or gpu.arch is None:
        return None
    floor = table.floors.nccl_floor(nccl, build.cuda)
    return (f"NCCL {nccl}", f"sm_{floor[0]}{floor[1]}") if below(gpu.arch, floor) else None


def lacking(build: Build, gpu: Gpu) -> list[str]:
    """The libraries of the build that were read and hold no code for this GPU, though the build as a whole does."""
    if gpu.arch is None or not build.arches:
        return []
    found = []
    for library, missing in build.lacks.items():
        held = tuple(arch for arch in build.arches if arch not in missing)
        if best(held, gpu.arch, unified=build.unified)[0] is Fit.NONE:
            found.append(library)
    return found
