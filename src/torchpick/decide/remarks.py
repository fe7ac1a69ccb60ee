"""What goes with a pick: what AMD, Intel and Apple add, what would have to change, what a user should know. Pure."""

from __future__ import annotations

from torchpick.model.arch import Fit, best
from torchpick.model.build import (
    MAKERS,
    Build,
    Objection,
    Reason,
    VendorIndex,
    Verdict,
    family_of,
    python_name,
    python_order,
)
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.pick import Change, Limit, Pick, Wish
from torchpick.model.table import Table, below, floor_of
from torchpick.model.versions import admits, is_dotted, numbers, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

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


def rocblas(build: Build, gpu: Gpu, table: Table) -> Iterator[Objection]:
    """RocBLAS is part of every matrix product, so a target that it dropped is an objection, like cuDNN's floor."""
    if gpu.arch is not None and build.family == "rocm" and gpu.arch in (build.arches or ()):
        rocm = build.backend[4:]
        of_gpu = ((since, before) for since, before, lacks in table.rocblas_gaps if gpu.arch in lacks)
        begun = (before for since, before in of_gpu if numbers(since) <= numbers(rocm))
        if any(before is None or numbers(rocm) < numbers(before) for before in begun):
            yield dropped(f"rocBLAS of ROCm {rocm}", "other targets", gpu)


def dropped(library: str, floor: str, gpu: Gpu) -> Objection:
    """That a library supports only what is at or above a floor, and not this GPU."""
    return Objection(Reason.LIBRARY_DROPPED_GPU, {"library": library, "floor": floor, "gpu": gpu.label}, gpu.index)


def installs_from(build: Build) -> str | None:
    """The oldest macOS that a wheel of the build names in its tag: `macosx_11_0_arm64` → 11.0."""
    tags = (tag.split("_")[1:3] for tag in build.tags if tag.startswith("macosx_"))
    return min((".".join(two) for two in tags if len(two) > 1 and "".join(two).isdigit()), key=numbers, default=None)


def macos(build: Build, machine: Machine, table: Table, wish: Wish) -> Iterator[Objection]:
    """Whether the wheel installs on this macOS, and whether torch then reaches the GPU."""
    version = machine.platform.macos
    if version is None:
        return
    oldest = installs_from(build)
    if oldest is not None and numbers(version) < numbers(oldest):
        yield Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": f"macOS {version}: it needs {oldest} or newer"})
        return
    idle = idle_mac(machine, build, table)
    if idle is not None and "apple" in machine.vendors and not (wish.allow_cpu or "cpu" in wish.backends):
        yield Objection(Reason.BACKEND_NOT_ALLOWED, {"why": f"{idle.text}; `--allow-cpu` allows it"})


def idle_mac(machine: Machine, build: Build, table: Table) -> Note | None:
    """That this release does not reach the GPU on this macOS, where that is known."""
    version, release = machine.platform.macos, release_key(build.torch)
    since = [(release_key(first), oldest) for first, oldest in table.mps if release_key(first) <= release]
    _, reaches = max(since, default=(None, None))
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
    """The one thing that would have to change: for each reason the best build with no other objection."""
    first: dict[Reason, Change] = {}
    late: list[Verdict] = []
    for verdict in considered:
        reasons = verdict.reasons
        if Reason.DRIVER_TOO_OLD in reasons:  # a newer driver is one change, also where the GPU needs it
            reasons -= {Reason.GPU_NOT_SERVED_BY_DRIVER}
        if len(reasons) != 1 or verdict.rank.preference < 2:
            continue
        (reason,) = reasons
        # Where nothing mends it, no driver supports all of the GPUs.
        if reason not in _FIXABLE or verdict.objections[0].facts.get("mends") == "":
            continue
        if reason not in first:
            first[reason] = _change(reason, verdict)
        if reason is Reason.DRIVER_TOO_OLD:
            late.append(verdict)
    changes = [*first.values()]
    if late and _needs(gentlest := min(late, key=_needs)) < _needs(late[0]):
        # The newest build may ask for a driver that the machine cannot have; the smallest step is worth knowing.
        index = changes.index(first[Reason.DRIVER_TOO_OLD])
        changes.insert(index + 1, _change(Reason.DRIVER_TOO_OLD, gentlest))
    return tuple(changes)


def _change(reason: Reason, verdict: Verdict) -> Change:
    build = verdict.build
    facts = {
        **max(verdict.objections, key=_needed).facts,
        "version": build.version,
        "backend": build.backend,
        "cuda": build.cuda or "",
        "python": python_name(max(build.pythons, key=python_order, default="")).removeprefix("Python "),
    }
    return Change(reason.name, _FIXABLE[reason].format_map(facts), verdict)


def _needs(verdict: Verdict) -> tuple[int, ...]:
    return max(map(_needed, verdict.objections))


def _needed(objection: Objection) -> tuple[int, ...]:
    """The number that an objection asks for."""
    needs = objection.facts.get("needs", "")
    return numbers(needs if is_dotted(needs) else "0")


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


def notes(
    verdict: Verdict, machine: Machine, table: Table, wish: Wish, considered: Iterable[Verdict]
) -> Iterator[Note]:
    build = verdict.build
    if not machine.counted and not (build.family == "xpu" and counts_for_xpu(machine)):
        yield _no_gpu(machine, build, table)
    if any(fit.fit is Fit.JIT for fit in verdict.fits):
        yield Note("JIT_ONLY", "the driver compiles its code on first use, which takes minutes, once")
    if not self_contained(build):
        text = "its ROCm libraries are separate packages of several GB, and installing it builds `rocm` from source"
        yield Note("ROCM_APART", text)
    elif not verdict.rank.native and verdict.fits and not machine.jetsons:
        text = f"CUDA {build.cuda} on this driver relies on minor-version compatibility"
        yield Note("MINOR_VERSION_COMPATIBILITY", text)
    if build.family == "cuda":
        yield from _library_notes(build, machine.counted, table, considered)
    if build.vendor is not None:
        yield _vendor(build.vendor, machine)
        if build.vendor.needs:
            needs = ", ".join(build.vendor.needs)
            yield Note("VENDOR_NEEDS", f"its wheels need {needs}, and do not say so; `torchpick doctor` looks for them")
    if _is_miscompiled(build, machine):
        yield MISCOMPILED
    if build.published is None:
        yield Note("UNCONFIRMED", "this build is not confirmed on the index")
    yield from missing_release(machine, table, wish)
    yield from inferred(build, wish.companions)


def made(machine: Machine, table: Table, wish: Wish, chosen: Verdict | None, considered: tuple[Verdict, ...]) -> Pick:
    """The pick of this build, with what a person should know of it; without one, with what would have to change."""
    if chosen is None:
        missing = missing_release(machine, table, wish) if wish.torch else ()
        return Pick((machine,), wish, (), considered, missing, changes=changes(considered), table_date=table.date)
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
        what = "there is no GPU, so this is the cpu build"
        if machine.gpus:
            what = "this is the cpu build, which uses no GPU"
        text = f"{what}; `--gpu` specifies a GPU of another machine"
    return Note("NO_GPU_FOUND", text)


def _library_notes(build: Build, gpus: Collection[Gpu], table: Table, considered: Iterable[Verdict]) -> Iterator[Note]:
    for gpu in gpus:
        for library in lacking(build, gpu):
            running = (verdict.build for verdict in considered if verdict.ok)
            whole = next((other for other in running if not any(lacking(other, gpu) for gpu in gpus)), None)
            way = f"; `--whole` takes {whole.version}, the newest that is not known to lack it" if whole else ""
            needs = next((what for part, what in NEEDS.items() if part in library), "what needs it fails there")
            text = f"{library} in it was built mostly without {gpu.label}: {needs}{way}"
            yield Note("PARTIAL_LIBRARY", text)
    for gpu in gpus if len(gpus) > 1 else ():
        if gap := nccl_gap(build, gpu, table):
            library, words = gap
            text = f"{library} in it supports {words} and newer: {gpu.label} cannot be used together with other GPUs"
            yield Note("PARTIAL_LIBRARY", text)
    if "cudnn" not in build.libraries and any(gpu.arch and gpu.arch.capability < (7, 5) for gpu in gpus):
        text = "which cuDNN it contains is not known, nor whether that one still supports this GPU"
        yield Note("LIBRARY_UNVERIFIED", text)


def nccl_gap(build: Build, gpu: Gpu, table: Table) -> tuple[str, str] | None:
    """NCCL of the build and what it supports, if this GPU is older than that; only several GPUs need it."""
    nccl = build.libraries.get("nccl")
    if nccl is None or build.cuda is None or gpu.arch is None:
        return None
    floor = floor_of(table.nccl, nccl, build.cuda_major)
    return (f"NCCL {nccl}", f"sm_{floor[0]}{floor[1]}") if below(gpu.arch, floor) else None


def lacking(build: Build, gpu: Gpu) -> list[str]:
    """The libraries of the build that are known to have no code for this GPU, though the build as a whole does."""
    if gpu.arch is None or not build.arches:
        return []
    return [
        library
        for library, missing in build.lacks.items()
        if best(tuple(arch for arch in build.arches if arch not in missing), gpu.arch, unified=build.unified)[0]
        is Fit.NONE
    ]


def family_pins(build: Build, wish: Wish) -> dict[str, str]:
    """Torch and the companions that are asked for, by their versions of this build."""
    return {name: version for name, version in build.pins.items() if name == "torch" or name in wish.companions}


def excluding(limits: tuple[Limit, ...], versions: Mapping[str, str]) -> tuple[Limit, ...]:
    """The limits that leave out one of these versions, which were chosen: a pre-release is one that counts."""
    of_these = (limit for limit in limits if limit.name in versions)
    return tuple(one for one in of_these if not admits(one.specifier, prereleases=True)(versions[one.name]))


def limits_note(limits: tuple[Limit, ...], instead: list[str]) -> Note:
    """What these limits changed: the versions that the answer would have without them."""
    text = " and ".join(dict.fromkeys(limit.text for limit in limits[:3]))
    return Note("CONSTRAINED", f"bound by {text}; without that it would be {' and '.join(instead[:3])}")


# A release a month and a half after the table was made is likely: torch comes out every two months.
OLD_AFTER_DAYS = 45
_REFRESH = "run `torchpick refresh` to read the live index"


def missing_release(machine: Machine, table: Table, wish: Wish) -> tuple[Note, ...]:
    """That the table has a newer release than it has for the AMD or Intel GPUs here, and that one is asked for.

    Their builds come out later than the others, or on an index of their own.
    """
    family = next((family for family in _LATER if {MAKERS[family][0]} == machine.vendors), None)
    if family is None or table.date is None or wish.channel != "stable":
        return ()
    if wish.backends and family not in map(family_of, wish.backends):
        return ()
    shelf, newer = table.of(machine.platform.name), list[str]()
    for release in sorted(shelf.releases(), key=release_key, reverse=True):
        families = {build.family for build in shelf.builds(release) if build.published}
        if family in families:
            missing = next(filter(admits(wish.torch), newer), None)
            text = f"the table from {table.date} has no torch {missing} for {_LATER[family]}; `torchpick refresh` looks"
            return () if missing is None else (Note("RELEASE_MISSING", text),)
        newer += [release] if families else ()
    return ()


_LATER = {"rocm": "ROCm", "xpu": "XPU"}


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
    newest = max((release_key(verdict.build.torch)[0] for verdict in pick.considered), default=())
    for clause in pick.wish.torch.split(","):
        version = clause.strip().lstrip("=~>").strip().removeprefix("v").removesuffix(".*")
        if is_dotted(version) and release_key(version)[0] > newest:
            return version
    return None
