"""What goes with a pick: what AMD, Intel and Apple add, what would have to change, what a user should know. Pure."""

from __future__ import annotations

from torchpick.model.arch import Fit, best
from torchpick.model.build import MAKERS, Build, VendorIndex
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.pick import Change, Pick
from torchpick.model.pythons import python_name, python_order
from torchpick.model.request import Wish
from torchpick.model.table import MpsFloor, Table, below, floor_of
from torchpick.model.verdict import Objection, Reason, Verdict
from torchpick.model.versions import is_dotted, numbers, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The last release for Intel Macs (pytorch/pytorch#114602); its Pythons are those of the table.
LAST_FOR_INTEL = "2.2.2"
# Where PyTorch publishes XPU builds.
XPU_PLATFORMS = ("linux-x86_64", "windows-x86_64")


# From this ROCm on its libraries are packages beside torch (pytorch#191688): several GB, and the one that selects them,
# `rocm`, is built from its source package on the machine itself.
_LIBRARIES_APART = (7, 14)


def self_contained(build: Build) -> bool:
    """Whether a ROCm build brings its ROCm libraries inside the wheel; true for every other build."""
    return build.family != "rocm" or numbers(build.backend[4:]) < _LIBRARIES_APART


def counts_for_xpu(machine: Machine) -> bool:
    """Whether an Intel GPU that the XPU builds support is the only one that counts here."""
    return "intel" in machine.vendors and machine.platform.name in XPU_PLATFORMS


def rocblas(build: Build, gpu: Gpu, table: Table) -> list[Objection]:
    """RocBLAS is part of every matrix product, so a target that it dropped is an objection, like cuDNN's floor."""
    if gpu.arch is None or build.family != "rocm" or gpu.arch not in (build.arches or ()):
        return []
    rocm = build.backend[4:]
    if not any(gpu.arch in gap.lacks and gap.covers(rocm) for gap in table.amd.gaps):
        return []
    return [dropped(f"rocBLAS of ROCm {rocm}", "other targets", gpu)]


def dropped(library: str, floor: str, gpu: Gpu) -> Objection:
    """That a library supports only what is at or above a floor, and not this GPU."""
    return Objection(Reason.LIBRARY_DROPPED_GPU, {"library": library, "floor": floor, "gpu": gpu.label}, gpu.index)


def installs_from(build: Build) -> str | None:
    """The oldest macOS that a wheel of the build names in its tag: `macosx_11_0_arm64` → 11.0."""
    tags = (tag.split("_")[1:3] for tag in build.tags if tag.startswith("macosx_"))
    return min((".".join(two) for two in tags if len(two) > 1 and "".join(two).isdigit()), key=numbers, default=None)


def mps_from(build: Build, floors: tuple[MpsFloor, ...]) -> str | None:
    """The oldest macOS on which this release reaches the GPU; None where it never does, or nothing is known."""
    release = release_key(build.torch)
    holding = [floor for floor in floors if release_key(floor.since) <= release]
    return max(holding, key=lambda floor: release_key(floor.since)).macos if holding else None


def macos(build: Build, machine: Machine, table: Table, wish: Wish) -> list[Objection]:
    """Whether the wheel installs on this macOS, and whether torch then reaches the GPU."""
    version = machine.platform.macos
    if version is None:
        return []
    oldest = installs_from(build)
    if oldest is not None and numbers(version) < numbers(oldest):
        text = f"macOS {version}: it needs {oldest} or newer"
        return [Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": text})]
    idle = idle_mac(machine, build, table)
    if idle is None or "apple" not in machine.vendors or wish.allow_cpu or "cpu" in wish.backends:
        return []
    return [Objection(Reason.BACKEND_NOT_ALLOWED, {"why": f"{idle.text}; `--allow-cpu` allows it"})]


def idle_mac(machine: Machine, build: Build, table: Table) -> Note | None:
    """That this release does not reach the GPU on this macOS, where that is known."""
    reaches = mps_from(build, table.mps)
    version = machine.platform.macos
    if version is None or (reaches and numbers(version) >= numbers(reaches)):
        return None
    why = f"needs macOS {reaches} or newer for it, this is {version}" if reaches else "has no mps device"
    return Note("NO_GPU_FOUND", f"the GPU is not used: torch {build.torch} {why}")


# What fails where a library of torch holds no code for the GPU. Of libtorch_cuda_linalg only MAGMA's kernels are its
# own: LU of large matrices and LDL; all else of torch.linalg goes to cuSOLVER (pytorch/pytorch#180388).
NEEDS = {
    "torch_cuda_linalg": (
        "LU of large matrices (solve, inv, det, lu_factor) and LDL, which use MAGMA, may fail there, "
        "and the rest of torch.linalg works"
    ),
    "torch_nvshmem": "symmetric memory between GPUs fails there",
}


def changes(considered: Iterable[Verdict]) -> tuple[Change, ...]:
    """The one thing that would have to change: for each kind of reason the best build with no other objection."""
    first: dict[Reason | str, Change] = {}
    late: list[Verdict] = []
    for verdict in considered:
        reasons = verdict.reasons
        if Reason.DRIVER_TOO_OLD in reasons:  # a newer driver is one change, also where the GPU needs it
            reasons -= {Reason.GPU_NOT_SERVED_BY_DRIVER}
        if len(reasons) != 1 or verdict.rank.suits < 2:
            continue
        (reason,) = reasons
        if verdict.objections[0].facts.get("mends") == "":
            continue  # no driver supports all of the GPUs
        companion = next((each.facts["companion"] for each in verdict.objections if "companion" in each.facts), None)
        kind = reason if companion is None else companion.partition(" ")[0]
        if reason in _FIXABLE and kind not in first:
            first[kind] = _change(reason, verdict)
        if reason is Reason.DRIVER_TOO_OLD:
            late.append(verdict)
    answer = [*first.values()]
    if late and _needs(gentlest := min(late, key=_needs)) < _needs(late[0]):
        # The newest build may ask for a driver that the machine cannot have; the smallest step is worth knowing.
        place = answer.index(first[Reason.DRIVER_TOO_OLD])
        answer.insert(place + 1, _change(Reason.DRIVER_TOO_OLD, gentlest))
    return tuple(answer)


def _change(reason: Reason, verdict: Verdict) -> Change:
    facts = _change_facts(verdict)
    text = _OTHER_PYTHON if "companion" in facts else _FIXABLE[reason]
    return Change(reason.name, text.format_map(facts), verdict)


def _needs(verdict: Verdict) -> tuple[int, ...]:
    return max(map(_needed, verdict.objections))


def _needed(objection: Objection) -> tuple[int, ...]:
    """The number that an objection asks for."""
    needs = objection.facts.get("needs", "")
    return numbers(needs if is_dotted(needs) else "0")


_OTHER_PYTHON = "with {newest}, the newest that {companion} has a wheel for: torch {version}"
_FIXABLE = {
    Reason.NOT_REQUESTED: "without that pin: torch {version}",
    Reason.CONSTRAINED: "without {limit}: torch {version}",
    Reason.COMPANION_MISSING: "without that companion: torch {version}",
    Reason.BACKEND_NOT_ALLOWED: "with `--backend {backend}`: torch {version}",
    Reason.NO_WHEEL_FOR_PYTHON: "with Python {python}: torch {version}",
    Reason.DRIVER_TOO_OLD: "with driver {needs} or newer: torch {version}",
    Reason.PTX_ONLY_DRIVER_TOO_OLD: "with a driver for CUDA {cuda}: torch {version}",
    Reason.GLIBC_TOO_OLD: "on a system with glibc {needs}: torch {version}",
    Reason.GPU_NOT_SERVED_BY_DRIVER: "with {mends}: torch {version}",
    Reason.UNCONFIRMED: "with `--allow-unconfirmed`, if it was published after all: torch {version}",
}


def _change_facts(verdict: Verdict) -> dict[str, str]:
    build = verdict.build
    newest = max(build.pythons, key=python_order, default="")
    return {
        **max(verdict.objections, key=_needed).facts,
        "version": build.version,
        "backend": build.backend,
        "cuda": build.cuda or "",
        "python": python_name(newest).removeprefix("Python "),
    }


def notes(
    verdict: Verdict, machine: Machine, table: Table, wish: Wish, considered: Iterable[Verdict]
) -> tuple[Note, ...]:
    """What a person should know of the chosen build."""
    build = verdict.build
    remarks = []
    if not machine.counted and not (build.family == "xpu" and counts_for_xpu(machine)):
        remarks.append(_no_gpu(machine, build, table))
    if any(fit.fit is Fit.JIT for fit in verdict.fits):
        remarks.append(Note("JIT_ONLY", "the driver compiles its code on first use, which takes minutes, once"))
    if not self_contained(build):
        text = "its ROCm libraries are separate packages of several GB, and installing it builds `rocm` from source"
        remarks.append(Note("ROCM_APART", text))
    elif not verdict.rank.native and verdict.fits and not machine.jetsons:
        remarks.append(
            Note(
                "MINOR_VERSION_COMPATIBILITY", f"CUDA {build.cuda} on this driver relies on minor-version compatibility"
            )
        )
    remarks.extend(_library_notes(verdict, machine, table, considered))
    if build.vendor is not None:
        remarks.append(_vendor(build.vendor, machine))
    if _is_miscompiled(build, machine):
        remarks.append(MISCOMPILED)
    if build.published is None:
        remarks.append(Note("UNCONFIRMED", "this build is not confirmed on the index"))
    remarks.extend(inferred(build, wish.companions))
    return tuple(remarks)


def made(machine: Machine, table: Table, wish: Wish, chosen: Verdict | None, considered: tuple[Verdict, ...]) -> Pick:
    """The pick of this build, with what a person should know of it; without one, with what would have to change."""
    if chosen is None:
        return Pick((machine,), wish, (), considered, changes=changes(considered), table_date=table.date)
    remarks = (*notes(chosen, machine, table, wish, considered), *table.notes)
    return Pick((machine,), wish, (chosen,), considered, remarks, table_date=table.date)


def inferred(build: Build, names: Iterable[str]) -> Iterator[Note]:
    """Of these companions those that no metadata pairs with the build, or of which no file was seen there."""
    for name in names:
        if name in build.companion_pins and build.is_inferred(name):
            text = f"that {name} {build.companions[name]} goes with torch {build.version} is inferred"
            yield Note("COMPANION_UNVERIFIED", text)


# pytorch/pytorch#190385 (18 September 2026): fixed in 13.2.2, by which Linux builds were made from 2.14.1 on (#198644).
MISCOMPILED = Note(
    "CUDA_MISCOMPILE",
    "NVIDIA reports that compilers of CUDA 12.8 to 13.2.1 may drop a reconvergence in kernels with nested divergence "
    "for Blackwell; as far as is known this build was made by one of them, and those for CUDA 13.2 on Linux from torch "
    "2.14.1 on by 13.2.2",
)


def _is_miscompiled(build: Build, machine: Machine) -> bool:
    """Whether a compiler that NVIDIA reports to be faulty made the build's code for a Blackwell GPU here."""
    blackwell = any(gpu.arch and gpu.arch.major in (10, 12) for gpu in machine.nvidia)
    if not blackwell or build.cuda is None or not (12, 8) <= numbers(build.cuda) <= (13, 2):
        return False
    fixed = build.platform.startswith("linux") and release_key(build.torch) >= release_key("2.14.1")
    return numbers(build.cuda) < (13, 2) or not fixed


def _vendor(index: VendorIndex, machine: Machine) -> Note:
    text = f"{index.vendor}'s own index has it, {index.url}; PyTorch's has nothing that runs here"
    beyond = [str(gpu.arch) for gpu in machine.counted if index.documented and gpu.arch not in index.documented]
    if beyond:
        text += f"; {index.vendor} has packages for {', '.join(beyond)} there and does not list it as supported"
    if machine.python.tag in index.inferred:
        text += f"; that it has wheels for Python {machine.python.version} is inferred"
    return Note("VENDOR_INDEX", text)


def _no_gpu(machine: Machine, build: Build, table: Table) -> Note:
    if "apple" in machine.vendors:
        mps = Note("MPS", "the regular wheel; torch uses the Apple GPU through its mps device")
        return idle_mac(machine, build, table) or mps
    if build.family != "cpu":
        maker = MAKERS[build.family][1]
        text = f"no {maker} GPU was specified or found, so neither GPU nor driver was checked"
    else:
        what = (
            "this is the cpu build, which uses no GPU" if machine.gpus else "there is no GPU, so this is the cpu build"
        )
        text = f"{what}; `--gpu` specifies a GPU of another machine"
    return Note("NO_GPU_FOUND", text)


def _library_notes(verdict: Verdict, machine: Machine, table: Table, considered: Iterable[Verdict]) -> list[Note]:
    build = verdict.build
    if build.family != "cuda" or not machine.counted:
        return []
    gaps = []
    for gpu in machine.counted:
        for library in lacking(build, gpu):
            whole = next(
                (v for v in considered if v.ok and not any(lacking(v.build, g) for g in machine.counted)), None
            )
            way = f"; `--whole` takes {whole.build.version}, the newest that is not known to lack it" if whole else ""
            needs = next((what for part, what in NEEDS.items() if part in library), "what needs it fails there")
            text = f"{library} in it was built mostly without {gpu.label}: {needs}{way}"
            gaps.append(Note("PARTIAL_LIBRARY", text))
    for gpu in machine.counted if len(machine.counted) > 1 else ():
        if gap := nccl_gap(build, gpu, table):
            library, words = gap
            text = f"{library} in it supports {words} and newer: {gpu.label} cannot be used together with other GPUs"
            gaps.append(Note("PARTIAL_LIBRARY", text))
    if "cudnn" not in build.libraries and any(gpu.arch and gpu.arch.capability < (7, 5) for gpu in machine.counted):
        text = "which cuDNN it contains is not known, nor whether that one still supports this GPU"
        gaps.append(Note("LIBRARY_UNVERIFIED", text))
    return gaps


def nccl_gap(build: Build, gpu: Gpu, table: Table) -> tuple[str, str] | None:
    """NCCL of the build and what it supports, if this GPU is older than that; only several GPUs need it."""
    nccl = build.libraries.get("nccl")
    if nccl is None or build.cuda is None or gpu.arch is None:
        return None
    floor = floor_of(table.floors.nccl, nccl, build.cuda_major)
    return (f"NCCL {nccl}", f"sm_{floor[0]}{floor[1]}") if below(gpu.arch, floor) else None


def lacking(build: Build, gpu: Gpu) -> list[str]:
    """The libraries of the build that are known to have no code for this GPU, though the build as a whole does."""
    if gpu.arch is None or not build.arches:
        return []
    libraries = []
    for library, missing in build.lacks.items():
        held = tuple(arch for arch in build.arches if arch not in missing)
        if best(held, gpu.arch, unified=build.unified)[0] is Fit.NONE:
            libraries.append(library)
    return libraries


# A release a month and a half after the table was made is likely: torch comes out every two months.
OLD_AFTER_DAYS = 45
_REFRESH = "run `torchpick refresh` to read the live index"


def on_age(pick: Pick, oldest: str) -> str | None:
    """A remark on a table from before that day, or on a release that it does not know; None if there is none."""
    if pick.table_date is None:
        return None
    unknown = _unknown_release(pick)
    if unknown is not None:
        return f"the table from {pick.table_date} knows no torch {unknown} for {pick.machine.platform.name}; {_REFRESH}"
    if pick.table_date < oldest:
        return f"the table of builds is from {pick.table_date}, more than {OLD_AFTER_DAYS} days old; {_REFRESH}"
    return None


def _unknown_release(pick: Pick) -> str | None:
    """A release that is asked for and newer than any in the table."""
    known = max((release_key(verdict.build.torch)[0] for verdict in pick.considered), default=())
    for clause in pick.wish.torch.split(","):
        version = clause.strip().lstrip("=~>").strip().removeprefix("v").removesuffix(".*")
        if is_dotted(version) and release_key(version)[0] > known:
            return version
    return None
