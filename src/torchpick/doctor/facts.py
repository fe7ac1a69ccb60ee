"""What the checks look at: an environment, the shell around it, and the GPU code found in it. Pure."""

from __future__ import annotations

from torchpick.environment.distributions import Environment, ProjectLock, TorchSetting
from torchpick.environment.shellvariables import Shell
from torchpick.model.arch import Arch, Fit
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.table import LibraryFloors
from torchpick.model.verdict import Objection, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.wheels.verdict import LibraryVerdict  # loaded where there is a library to judge

# NVIDIA's own projects: cuBLAS chooses among thousands of modules and cuFFT loads by itself, so to count their modules
# says nothing (cuFFT 12.2 looks dead on sm_89 and runs). What they need is in compat/libraries.json and torch's pins.
NVIDIA = "nvidia-"


class GpuSupport(Noun):
    """How one package supports one GPU, by the words of torchpick.model.verdict, and the libraries that fail."""

    gpu: int
    word: str
    failing: tuple[LibraryVerdict, ...] = ()


class PartialLibrary(Noun):
    """A library of torch that does not support a GPU, or in part."""

    name: str
    gpu: int
    text: str


class TwinRuntimes(Noun):
    """One NVIDIA project that is there for two CUDA majors; `shared` is a file that both installed."""

    one: str
    other: str
    shared: str | None


class WantedTorch(Noun):
    """The torch that the environment should have."""

    version: str
    backend: str


class InspectedPackage(Noun):
    """An installed package with GPU code of its own, read and judged for each GPU.

    `with_cuda`: where it has a library per CUDA, the CUDAs of torch with which it would support them all.
    """

    name: str
    version: str
    arches: tuple[Arch, ...]
    support: tuple[GpuSupport, ...]
    with_cuda: tuple[str, ...] = ()


class InstalledTorch(Noun):
    """The torch that an import would find.

    `verdict` is resolve's, on a Build made of what was read; None where its version says nothing.
    `missing` are files without which it cannot load. `partial`: its libraries that do not support a GPU.
    """

    version: str
    release: str
    backend: str
    cuda: str | None
    folder: str
    arches: tuple[Arch, ...] | None
    measured: bool
    verdict: Verdict | None = None
    missing: tuple[str, ...] = ()
    partial: tuple[PartialLibrary, ...] = ()

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


class Companion(Noun):
    """A package that is compiled against torch: what is installed, and the release that belongs to this torch."""

    name: str
    version: str
    expected: str | None = None


class Demand(Noun):
    """What an installed package requires of another one, and has not."""

    package: str
    requirement: str
    name: str
    has: str
    links_torch: bool = False


class PackageTrouble(Noun):
    """Why a package does not go with this torch or this driver: the objection that a plan would have."""

    name: str
    label: str
    objection: Objection


class Rivals(Noun):
    """Two projects that install the same module; `winner` is the one whose files lie there, where that is known."""

    one: str
    other: str
    winner: str | None = None


class MissingRequirement(Noun):
    """What an installed package requires, and is not installed at all."""

    package: str
    name: str
    requirement: str


class GoneFiles(Noun):
    """Recorded files of a package that are not there; a whole folder ends in a slash."""

    name: str
    label: str
    paths: tuple[str, ...]


class Facts(Noun):
    """Everything a check may look at; nothing is asked for while judging.

    `wanted` is the torch that the environment should have: the one that fixes it, else the installed one. `unwheeled`:
    why no wheel fits this Python. `absent` is empty for a given machine, whose system folders are not here.
    `cuda_is_found`: torch's CUDA libraries are there, wherever they lie. `torch_is_wanted`: false in an environment of
    another framework where nothing asks for torch.
    """

    environment: Environment
    machine: Machine
    torch: InstalledTorch | None = None
    packages: tuple[InspectedPackage, ...] = ()
    companions: tuple[Companion, ...] = ()
    demands: tuple[Demand, ...] = ()
    required: tuple[MissingRequirement, ...] = ()
    gone: tuple[GoneFiles, ...] = ()
    troubles: tuple[PackageTrouble, ...] = ()
    rivals: tuple[Rivals, ...] = ()
    absent: tuple[Absent, ...] = ()
    cuda_is_found: bool = False
    torch_is_wanted: bool = True
    twins: tuple[TwinRuntimes, ...] = ()
    shell: Shell = Shell()
    overrides: tuple[Override, ...] = ()
    settings: tuple[TorchSetting, ...] = ()
    lock: ProjectLock | None = None
    floors: LibraryFloors = LibraryFloors()
    triton_floor: tuple[int, int] | None = None
    uv_auto_fails: bool = False
    unwheeled: str | None = None
    wanted: WantedTorch | None = None

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return self.machine.counted

    def gpu(self, index: int) -> Gpu:
        return next(each for each in self.machine.gpus if each.index == index)

    def nvidia(self) -> tuple[Gpu, ...]:
        return tuple(each for each in self.gpus if each.vendor == "nvidia")


def fits(torch: InstalledTorch, gpu: Gpu) -> Fit:
    """How the torch supports a GPU; NONE where that is not known."""
    if torch.verdict is None:
        return Fit.NONE
    return next((each.fit for each in torch.verdict.fits if each.gpu == gpu.index), Fit.NONE)
