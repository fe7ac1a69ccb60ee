"""Machine × Table × Wish → Pick, and how a machine's driver version is read. Pure: the same arguments, the same answer.

How a build is judged and which wins is documented in docs/judgement.md; each rule's source stands in model/.
"""

from __future__ import annotations

from torchpick.decide.demands import takes
from torchpick.decide.remarks import counts_for_xpu, dropped, lacking, macos, made, nccl_gap, rocblas, self_contained
from torchpick.model.arch import Arch, Fit, best, crosses, listed
from torchpick.model.build import (
    DEFAULT_INDEX,
    MAKERS,
    Build,
    GpuFit,
    Objection,
    Rank,
    Reason,
    Verdict,
    family_of,
    python_name,
    python_span,
    toolkit_order,
)
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.pick import Pick, Wish
from torchpick.model.table import DriverTable, Table, below, floor_of
from torchpick.model.versions import admits, numbers, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Fits = tuple[tuple[Fit, Arch | None], ...]


def pick(machine: Machine, table: Table, wish: Wish, *, everything: bool = True) -> Pick:
    """The best build for the machine, kept with all that it was weighed against.

    Without `everything` the builds after the pick are left unjudged: the same answer, with a short `considered`.
    """
    verdicts = judge(machine, table, wish)
    considered: list[Verdict] = []
    for verdict in verdicts:
        considered.append(verdict)
        if verdict.ok:
            break
    chosen = next((verdict for verdict in considered[-1:] if verdict.ok), None)
    if everything or (chosen is not None and any(lacking(chosen.build, gpu) for gpu in machine.counted)):
        considered.extend(verdicts)
    return made(machine, table, wish, chosen, tuple(considered))


def judge(machine: Machine, table: Table, wish: Wish) -> Iterator[Verdict]:
    """Every build of the machine's platform with its verdict, in the order of preference, judged as it is asked for."""
    fit = BuildFit(machine, table, wish)
    # The first two fields of a rank are known without judging, so a release is judged only when its turn comes.
    shelf = table.of(machine.platform.name)
    releases = sorted(shelf.releases(), key=release_key, reverse=True)
    if wish.near:
        releases = _nearest_first(releases, wish.near)
    for preference in (3, 2, 1, 0):
        for release in releases:
            turn = [fit.verdict(build) for build in shelf.builds(release) if fit.preference(build) == preference]
            yield from sorted(turn, key=lambda verdict: verdict.rank, reverse=True)


def _nearest_first(releases: list[str], near: str) -> list[str]:
    """In steps from one release to the next, of two as near the newer first; one that cannot be read is the oldest."""
    try:
        own = release_key(near)
    except ValueError:
        own = release_key("0")
    newer = sum(release_key(release) > own for release in releases)
    is_between = near not in releases
    steps = {release: abs(place - newer) + (is_between and place >= newer) for place, release in enumerate(releases)}
    return sorted(releases, key=steps.__getitem__)


# Reports of 2.12.1+rocm7.2: the profiler in it counts devices that the kernel of WSL2 does not list.
_OF_WSL = "PyTorch's ROCm libraries abort under WSL2"


class BuildFit:
    """One machine and one wish, prepared once; `verdict` is then asked a build at a time."""

    def __init__(self, machine: Machine, table: Table, wish: Wish) -> None:
        self.machine, self.table, self.wish = machine, table, wish
        self.gpus, self.os = machine.counted, machine.driver_os
        self.default_family = _default_family(machine, wish)
        prereleases = wish.channel != "stable"
        self.admits = admits(wish.torch, prereleases=prereleases)
        # One that is asked for by name alone is the one that belongs to torch, by whatever number (AMD's 0.29.0a0).
        self.companions = {
            name: admits(text, prereleases=prereleases or not text) for name, text in wish.companions.items()
        }
        # A limit on a companion that nobody asks for must not make the pick look for it.
        self.limits = [
            (limit, admits(limit.specifier, prereleases=prereleases))
            for limit in wish.limits
            if limit.name == "torch" or limit.name in wish.companions
        ]
        self.driver_cuda = machine.driver and table.drivers.speaks(machine.driver)
        self._fits: dict[tuple[int, bool], Fits] = {}
        self._refused = self._refusals()
        self._excluded = table.excluded.get(machine.python.exact or "", ())

    def preference(self, build: Build) -> int:
        if build.family == self.default_family:
            return 3 if build.vendor is None else 2
        return int(build.family != "cpu")

    def verdict(self, build: Build) -> Verdict:
        fits = self._fit(build)
        rank = Rank(  # by place, as this is done for each build
            self.preference(build),
            release_key(build.torch),
            min((fit for fit, _ in fits), default=Fit.EXACT),
            self._native(build),
            toolkit_order(build.backend),
            build.backend,
        )
        gpu_fits = tuple(GpuFit(gpu.index, fit, via) for gpu, (fit, via) in zip(self.gpus, fits, strict=True))
        # The most important first: what was asked for, then the hardware, then the software, then what we do not know.
        objections = (
            *self._unasked(build),
            *self._gpu_objections(build, fits),
            *self._driver(build),
            *self._software(build),
            *self._doubts(build),
        )
        own = build.for_machine(self.machine.python.tag, (gpu.arch for gpu in self.gpus), self._excluded)
        return Verdict(own, objections, gpu_fits if build.family in ("cuda", "rocm") else (), rank)

    def _unasked(self, build: Build) -> Iterator[Objection]:
        if not self.admits(build.version):
            yield Objection(Reason.NOT_REQUESTED, {"asked": f"torch{self.wish.torch or ' (a final release)'}"})
        for limit, admitted in self.limits:
            pinned = build.pins.get(limit.name)
            if pinned is not None and not admitted(pinned):
                text = f"`{limit.name}{limit.specifier}` in {limit.where} excludes it"
                yield Objection(Reason.CONSTRAINED, {"unmet": text, "limit": limit.text})
        if why := self._backend_barred(build):
            yield Objection(Reason.BACKEND_NOT_ALLOWED, {"why": why})
        yield from self._companion_objections(build)

    def _software(self, build: Build) -> Iterator[Objection]:
        machine, glibc = self.machine, self.machine.platform.glibc
        yield from macos(build, machine, self.table, self.wish)
        if machine.platform.libc == "musl":
            yield Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": f"{machine.platform.name} with musl"})
        if machine.python.tag not in build.pythons:
            facts = {"python": python_name(machine.python.tag), "pythons": python_span(build.pythons)}
            yield Objection(Reason.NO_WHEEL_FOR_PYTHON, facts)
        if glibc and build.glibc and numbers(glibc) < numbers(build.glibc):
            yield Objection(Reason.GLIBC_TOO_OLD, {"needs": build.glibc, "has": glibc})

    def _doubts(self, build: Build) -> Iterator[Objection]:
        if build.yanked:
            yield Objection(Reason.YANKED)
        if build.published is None and not self.wish.allow_unconfirmed:
            yield Objection(Reason.UNCONFIRMED)
        # A wheel without a label says nothing about its contents: only one that was read is known.
        unread = build.arches is None or (build.backend == DEFAULT_INDEX and build.evidence.kind != "measured")
        if unread and self.gpus and build.family in ("cuda", "rocm"):
            yield Objection(Reason.UNKNOWN_ARCHES)

    def _backend_barred(self, build: Build) -> str | None:
        wish = self.wish
        if not takes(wish, build):
            return f"`{', '.join(wish.backends)}` was asked for"
        if wish.backends:
            idle = build.backend == DEFAULT_INDEX and build.family == "cpu" and self.gpus and not wish.allow_cpu
            return "the default index's wheels for this platform have no GPU code" if idle else None
        if build.family == self.default_family or (wish.allow_cpu and build.family == "cpu"):
            return None
        if build.family == "cpu":
            return "it would not use the GPU; `--cpu` or `--allow-cpu` allows it"
        return f"it was built for {MAKERS[build.family][1]} GPUs"

    def _companion_objections(self, build: Build) -> Iterator[Objection]:
        python = self.machine.python.tag
        for name, admitted in self.companions.items():
            version = build.companions.get(name)
            pythons = build.companion_pythons.get(name, (python,))
            if version is None:
                facts = {"why": f"no {name} is known for torch {build.version}"}
            elif not admitted(version):
                facts = {"why": f"its {name} is {version}, and `{name}{self.wish.companions[name]}` was asked for"}
            elif build.release_of(name) in self._excluded:
                facts = {"why": f"{name} {version} leaves out Python {self.machine.python.exact}"}
            elif python not in pythons:
                why = f"{name} {version} has no wheel for {python_name(python)}: it has {python_span(pythons)}"
                facts = {"why": why}
            else:
                continue
            yield Objection(Reason.COMPANION_MISSING, facts)

    def _driver(self, build: Build) -> Iterator[Objection]:
        driver = self.machine.driver
        if driver is None or build.cuda is None:
            return
        if lacked := self.table.drivers.too_old(driver, build.cuda, self.os):
            yield Objection(Reason.DRIVER_TOO_OLD, {"cuda": build.cuda, **lacked})

    def _gpu_objections(self, build: Build, fits: Fits) -> Iterator[Objection]:
        if build.family == "rocm" and build.vendor is None and self.os != self.machine.platform.os:
            yield Objection(Reason.BACKEND_NOT_ALLOWED, {"why": _OF_WSL})
        if build.family not in ("cuda", "rocm") or build.arches is None:
            return
        drivers = self.table.drivers
        for gpu, (fit, via) in zip(self.gpus, fits, strict=True):
            if build.family == "cuda" and gpu.index in self._refused:
                yield self._refused[gpu.index]
            if fit is Fit.NONE:
                yield Objection(Reason.NO_KERNELS, {"gpu": gpu.label, "arches": listed(build.arches)}, gpu.index)
            elif fit is Fit.JIT and build.cuda and gpu.arch and not drivers.knows(build.cuda, gpu.arch):
                # Torch has PTX for it, and the libraries that torch relies on can have no code.
                yield dropped(f"cuBLAS and cuDNN of CUDA {build.cuda}", "older GPUs", gpu)
            elif fit is Fit.JIT and not self._native(build):
                facts = {"gpu": gpu.label, "cuda": build.cuda or "", "has": f"CUDA {self.driver_cuda}"}
                yield Objection(Reason.PTX_ONLY_DRIVER_TOO_OLD, facts, gpu.index)
            elif via and gpu.arch and crosses(via, gpu.arch):
                yield from self._tegra_driver(gpu)
            yield from self._library_objections(build, gpu)
            yield from rocblas(build, gpu, self.table)

    def _tegra_driver(self, gpu: Gpu) -> Iterator[Objection]:
        """Discrete code on Tegra needs the driver of the unified stack, whatever the CUDA's own floor is."""
        driver, first = self.machine.driver, self.table.drivers.unified_tegra
        if driver is None or first is None:
            return
        if driver.version is None:  # a Jetson's own numbering: the CUDA that the stack brought decides
            enough = self.driver_cuda is not None and numbers(self.driver_cuda) >= (13, 2)
        else:
            enough = self.table.drivers.at_least(driver.version, first, self.os)
        if not enough:
            facts = {"cuda": f"13.2 code of discrete GPUs on {gpu.label}", "needs": first, "has": driver.label}
            yield Objection(Reason.DRIVER_TOO_OLD, facts, gpu.index)

    def _library_objections(self, build: Build, gpu: Gpu) -> Iterator[Objection]:
        if gpu.arch is None:
            return
        if (cudnn := build.libraries.get("cudnn")) is not None:
            floor = floor_of(self.table.cudnn, cudnn)
            if below(gpu.arch, floor):
                yield dropped(f"cuDNN {cudnn}", f"sm_{floor[0]}{floor[1]} and newer", gpu)
        if self.wish.whole:
            yield from (dropped(library, "other GPUs", gpu) for library in lacking(build, gpu))
            if len(self.gpus) > 1 and (gap := nccl_gap(build, gpu, self.table)):
                library, floor_arch = gap
                yield dropped(library, f"{floor_arch} and newer", gpu)

    def _refusals(self) -> dict[int, Objection]:
        """The GPUs that this driver does not support at all: no build can change that.

        A GPU that the driver itself lists is supported, whatever the table says.
        """
        driver, refused = self.machine.driver, dict[int, Objection]()
        for gpu in self.machine.nvidia:
            if driver is None or gpu.arch is None or (gpu.source in _LISTED_BY and driver.source not in _UNSEEN):
                continue
            if facts := self.table.drivers.unsupported(driver, gpu.arch, self.os):
                # The one that is assumed is the newest for the oldest GPU: no other supports them all.
                assumed = {"mends": ""} if driver.source == "assumed" else {}
                why = {**facts, **assumed, "gpu": gpu.label}
                refused[gpu.index] = Objection(Reason.GPU_NOT_SERVED_BY_DRIVER, why, gpu.index)
        return refused

    def _fit(self, build: Build) -> Fits:
        key = (id(build.arches), build.unified)
        if key not in self._fits:
            arches = build.arches or ()
            self._fits[key] = tuple(
                best(arches, gpu.arch, unified=build.unified) if gpu.arch else (Fit.NONE, None) for gpu in self.gpus
            )
        return self._fits[key]

    def _native(self, build: Build) -> bool:
        """Whether the driver supports the build's CUDA itself, and ROCm's libraries are inside the wheel."""
        if build.family == "rocm":
            return self_contained(build)
        if build.cuda is None or self.driver_cuda is None:
            return True
        return numbers(self.driver_cuda) >= numbers(build.cuda)


def _default_family(machine: Machine, wish: Wish) -> str:
    """The family that counts when no backend was asked for."""
    if "nvidia" in machine.vendors:
        return "cuda"
    if "amd" in machine.vendors:
        return "rocm"
    if counts_for_xpu(machine) and (not wish.backends or "xpu" in wish.backends):
        return "xpu"
    if wish.backends and "cpu" not in wish.backends:
        return "cuda" if wish.backends[0] == DEFAULT_INDEX else family_of(wish.backends[0])
    return "cpu"


# These drivers were not detected: they were specified, or assumed for a GPU that was.
_UNSEEN = frozenset({"given", "assumed"})
# The sources that ask the driver itself for its GPUs.
_LISTED_BY = frozenset({"nvml", "cuda"})


def complete_driver(machine: Machine, table: DriverTable) -> Machine:
    """The machine with its driver resolved: the newest if none is known, else what the given number means."""
    driver = machine.driver
    if driver is None:
        arches = tuple(gpu.arch for gpu in machine.nvidia if gpu.arch)
        if not arches:
            return machine
        version = table.assumed_for(arches)
        what = f"no driver was specified, so the newest that supports the GPU is assumed: {version}"
        note = Note("DRIVER_ASSUMED", f"{what}; specify one with `--driver`")
        return machine._replace(driver=table.assumed(version), notes=(*machine.notes, note))
    number = driver.version
    branch = None if number is None or driver.source not in _UNSEEN or machine.jetsons else table.branch_of(number)
    if number is None or branch is None:
        return machine
    if table.is_branch_number(number):
        text = f"`{number}` is a driver branch and means its newest driver; `--driver` also takes a full version"
        note = Note("DRIVER_BRANCH", text)
    elif numbers(number)[0] > table.windows_last[branch]:  # which also decides under WSL2
        newer = branch == max(table.branches)
        what = "is newer than any driver in this table" if newer else "is not a known driver version"
        note = Note("DRIVER_NUMBER", f"{number} {what}; it is treated as part of branch {branch}")
    else:
        return machine
    return machine._replace(notes=(*machine.notes, note))


def with_driver(machine: Machine, version: str, table: DriverTable) -> Machine:
    return machine._replace(driver=table.assumed(version, machine.driver and machine.driver.os))
