"""What the checks look at: an environment, the shell around it, and the GPU code found in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchpick.model.arch import Arch, Fit
from torchpick.model.libraries import LibraryFloors
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.verdict import Verdict

# NVIDIA's own projects: cuBLAS chooses among thousands of modules and cuFFT loads by itself, so to count their modules
# says nothing (cuFFT 12.2 looks dead on sm_89 and runs). What they need is in compat/libraries.json and torch's pins.
NVIDIA = "nvidia-"
RUNS, PARTLY, NOT = "runs", "partly", "not"


def normal(name: str) -> str:
    """A project's name as indexes spell it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Distribution(Noun):
    """An installed project: where it lies, what it requires, and what of its metadata could not be read."""

    name: str
    version: str
    folder: str
    info: str
    requires: tuple[str, ...] = ()
    installer: str | None = None
    faults: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


class CondaPackage(Noun):
    name: str
    version: str
    build: str


class Fault(Noun):
    """Something that could not be read, and why."""

    where: str
    what: str


class Environment(Noun):
    """What is installed for one Python; `sites` in the order of its search path, `distributions` likewise.

    `gone` says what is wrong where the interpreter does not run. `torches` are the folders that hold a torch package.
    """

    executable: str | None
    prefix: str
    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    sites: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    conda: tuple[CondaPackage, ...] = ()
    torches: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    gone: str | None = None
    source: str = "told"

    def find(self, name: str) -> Distribution | None:
        """The one that an import would meet first."""
        return next((each for each in self.distributions if each.name == name), None)

    def named(self, start: str) -> Iterator[Distribution]:
        """Every first one whose name begins so."""
        seen: set[str] = set()
        for each in self.distributions:
            if each.name.startswith(start) and each.name not in seen:
                seen.add(each.name)
                yield each


class Served(Noun):
    """How one package serves one GPU: `runs`, `partly` or `not`, and the libraries that fail."""

    gpu: int
    word: str
    failing: tuple[tuple[str, str], ...] = ()


class Package(Noun):
    """An installed package with GPU code of its own, read and judged for each GPU.

    `with_cuda`: where it has a library per CUDA, the CUDAs of torch with which it would serve them all.
    """

    name: str
    version: str
    arches: tuple[Arch, ...]
    served: tuple[Served, ...]
    with_cuda: tuple[str, ...] = ()


class Torch(Noun):
    """The torch that an import would find.

    `verdict` is resolve's, on a Build made of what was read; None where its version says nothing.
    `missing` are files without which it cannot load. `partial`: library → GPUs that its modules do not serve.
    """

    version: str
    release: str
    backend: str
    cuda: str | None
    hip: str | None
    folder: str
    arches: tuple[Arch, ...] | None
    measured: bool
    verdict: Verdict | None = None
    missing: tuple[str, ...] = ()
    partial: tuple[tuple[str, int, str], ...] = ()

    @property
    def label(self) -> str:
        return f"torch {self.version}"


class Absent(Noun):
    """A library that a package asks the loader for, and that is nowhere to be found."""

    library: str
    wanted_by: str


class Override(Noun):
    """A file in a folder of LD_LIBRARY_PATH that the loader takes before the environment's own."""

    library: str
    folder: str
    instead_of: str


class DriverLibrary(Noun):
    """Another libcuda that LD_LIBRARY_PATH puts before the driver's: `stub`, or `compat` (cuda-compat)."""

    kind: str
    folder: str
    version: str | None = None


class Shell(Noun):
    """What this shell does to a program: the variables that matter, and the CUDA files of LD_LIBRARY_PATH by folder."""

    variables: Mapping[str, str] = {}
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    driver_library: DriverLibrary | None = None


class Setting(Noun):
    """A setting of pip or uv that names a PyTorch index or backend: what, where, its value, the backend it means."""

    name: str
    where: str
    value: str
    backend: str | None


class Lock(Noun):
    """A lock of the project that the environment belongs to, and the torch versions it names."""

    file: str
    versions: tuple[str, ...]


class Companion(Noun):
    """A package that is compiled against torch: what is installed, and the release that belongs to this torch."""

    name: str
    version: str
    expected: str | None = None


class Demand(Noun):
    """What an installed package requires of another one, and whether that is so."""

    package: str
    requirement: str
    name: str
    has: str | None
    met: bool
    links_torch: bool = False


class Facts(Noun):
    """Everything a check may look at; nothing is asked for while judging.

    `told`: the GPUs are another machine's, so its system folders are not here. `wanted` is the version and backend that
    the environment should have: the cure's, else the installed one. `unwheeled`: why no wheel fits this Python.
    """

    environment: Environment
    machine: Machine
    torch: Torch | None = None
    packages: tuple[Package, ...] = ()
    companions: tuple[Companion, ...] = ()
    demands: tuple[Demand, ...] = ()
    absent: tuple[Absent, ...] = ()
    twins: tuple[tuple[str, str, str | None], ...] = ()
    shell: Shell = Shell()
    overrides: tuple[Override, ...] = ()
    settings: tuple[Setting, ...] = ()
    lock: Lock | None = None
    floors: LibraryFloors = LibraryFloors()
    triton_floor: tuple[int, int] | None = None
    uv_auto_fails: bool = False
    unwheeled: str | None = None
    told: bool = False
    wanted: tuple[str, str] | None = None

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return self.machine.counted

    def gpu(self, index: int) -> Gpu:
        return next(each for each in self.machine.gpus if each.index == index)

    def nvidia(self) -> tuple[Gpu, ...]:
        return tuple(each for each in self.gpus if each.vendor == "nvidia")


def fits(torch: Torch, gpu: Gpu) -> Fit:
    """How the torch serves a GPU; NONE where nobody knows."""
    if torch.verdict is None:
        return Fit.NONE
    return next((each.fit for each in torch.verdict.fits if each.gpu == gpu.index), Fit.NONE)
