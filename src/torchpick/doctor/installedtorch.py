"""What is installed, by its files: the torch that an import would find, packages with GPU code, what libraries link."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from torchpick.decide import buildfit
from torchpick.decide.demands import is_backend
from torchpick.environment import distributions, world
from torchpick.environment.distributions import Distribution, Environment, TorchFacts
from torchpick.errors import WheelError
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build, Evidence, Verdict, family_of, toolkit_order
from torchpick.model.machine import Gpu, Machine
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, Table
from torchpick.model.versions import is_dotted, is_release
from torchpick.wheels import judging, librarycode, readings
from torchpick.wheels.fatbin import NO_LINKS, Links, read_links
from torchpick.wheels.readings import Reading

# `nvidia-cuda-runtime-cu12==12.8.90`, and from CUDA 13 on `cuda-toolkit[cublas,…]==13.0.2`.
_RUNTIME = re.compile(r"(?:nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit)(?:\[[^\]]*\])? *\(?==(\d+)\.(\d)[.\d]*")


class InstalledTorch(NamedTuple):
    """What is known of the installed torch.

    `verdict` is on a Build made of what was read; None where its version says nothing.
    """

    version: str
    release: str
    backend: str
    cuda: str | None
    folder: str
    arches: tuple[Arch, ...] | None
    measured: bool
    verdict: Verdict | None = None

    @property
    def label(self) -> str:
        return f"torch {self.version}"

    @property
    def runs(self) -> bool:
        """Whether nothing is against it on this machine."""
        return self.verdict is not None and self.verdict.ok

    def fit(self, gpu: Gpu) -> Fit:
        """How it supports a GPU; NONE where that is not known."""
        fits = self.verdict.fits if self.verdict else ()
        return next((gpu_fit.fit for gpu_fit in fits if gpu_fit.gpu == gpu.index), Fit.NONE)


def backend_of(torch: InstalledTorch | None, here: Environment) -> str | None:
    """The backend that the environment was made for; by the metadata where torch itself is gone."""
    if torch is not None:
        return torch.backend if is_backend(torch.backend) else None
    recorded = here.find("torch")
    if recorded is None:
        return None
    label = recorded.version.partition("+")[2]
    if is_backend(label):
        return label
    # The default index's wheels have no label, but they pin the CUDA runtime.
    cuda = cuda_of_runtime(recorded.requires)
    return None if cuda is None else f"cu{cuda.replace('.', '')}"


def cuda_of_runtime(lines: Iterable[str]) -> str | None:
    """The CUDA of the runtime that one of these lines pins."""
    pins = (match for line in lines if (match := _RUNTIME.match(line)))
    return next((f"{match[1]}.{match[2]}" for match in pins), None)


# AMD's own torch has no kernels: those for a target are a package beside it (ROCm/TheRock RELEASES.md). Others are of a
# family, such as -gfx11, and hold what its targets share.
_KERNELS = re.compile(r"amd-torch-device-(gfx[0-9a-f]{3,4}\b)?")


def read(here: Environment, machine: Machine, table: Table) -> InstalledTorch | None:
    """The installed torch; None where its version cannot be read."""
    facts = distributions.torch_facts(here.torches)
    recorded = here.find("torch")
    version = facts.version or (recorded.version if recorded is not None else None)
    return None if version is None else _judged(version, facts, here, machine, table)


def named(version: str, cuda: str | None, here: Environment, machine: Machine, table: Table) -> InstalledTorch:
    """A torch of which no more than its version is known, and the CUDA it was built for where no label says it."""
    label = version.partition("+")[2]
    if family_of(label) == "cuda" and is_backend(label):
        cuda = ".".join(map(str, toolkit_order(label)))
    return _judged(version, TorchFacts(version, cuda, None), here, machine, table)


def _judged(version: str, facts: TorchFacts, here: Environment, machine: Machine, table: Table) -> InstalledTorch:
    """The torch in the first folder of the environment, with the decision's own verdict on it."""
    folder = next(iter(here.torches), os.devnull)
    backend = _backend(version, facts)
    release = version.partition("+")[0]
    row = table.find(machine.platform.name, release, backend)
    measured = _arches(here, folder)
    torch = InstalledTorch(
        version=version if "+" in version or backend == "cpu" else f"{version}+{backend}",
        release=release,
        backend=backend,
        cuda=facts.cuda,
        folder=folder,
        arches=measured if measured is not None or row is None else row.arches,
        measured=measured is not None,
    )
    if backend == "cpu":
        return torch
    build = _build(torch, machine, _libraries(here, facts.cuda, row))
    # What is installed was wished for: neither its backend nor a pre-release is an objection any more.
    wish = Wish(backends=(backend,), channel="nightly")
    alone = table._replace(builds={build.platform: BuildsByRelease.of([build])})
    return torch._replace(verdict=next(buildfit.judge(machine, alone, wish)))


def _build(torch: InstalledTorch, machine: Machine, libraries: Mapping[str, str]) -> Build:
    return Build(
        torch=torch.release if is_release(torch.release) else "0",  # a source build made it up: it is the oldest
        backend=torch.backend,
        platform=machine.platform.name,
        version=torch.version,
        cuda=torch.cuda,
        arches=torch.arches,
        pythons=(machine.python.tag,),
        libraries=libraries,
        evidence=Evidence("measured" if torch.measured else "declared", torch.folder),
    )


def _backend(version: str, facts: TorchFacts) -> str:
    """The backend by the local label, else by what the version file says it was built with."""
    label = version.partition("+")[2]
    if is_backend(label):
        return label
    if facts.cuda is not None:
        return "cu" + facts.cuda.replace(".", "")
    return f"rocm{facts.hip}" if facts.hip is not None else "cpu"


def _arches(here: Environment, folder: str) -> tuple[Arch, ...] | None:
    """Torch's own list of what it was compiled for; where there is none, what its largest library registers."""
    recorded = here.find("torch")
    if recorded is not None and any(map(_KERNELS.match, recorded.requires)):
        targets = (_KERNELS.match(kernels.name) for kernels in here.named("amd-torch-device-"))
        return tuple(Arch.parse(match[1]) for match in targets if match and match[1])
    if (flags := readings.flags_in(folder)) is not None:
        return flags
    for name in ("libtorch_cuda.so", "torch_cuda.dll"):
        largest = librarycode.read_library(os.path.join(folder, "torch", "lib", name), name)
        if largest is not None and largest.code.total:
            return *largest.sass, *largest.ptx
    return None


def _libraries(here: Environment, cuda: str | None, row: Build | None) -> Mapping[str, str]:
    """The cuDNN that is installed; where it lies inside torch, as the table says."""
    major = (cuda or "").split(".")[0]
    for cudnn in here.named("nvidia-cudnn-cu"):
        if cudnn.name.endswith(f"-cu{major}") and is_dotted(cudnn.version):
            return {"cudnn": cudnn.version}
    return {name: version for name, version in row.libraries.items() if name == "cudnn"} if row is not None else {}


# What the reader of wheels finds in an environment: the packages with GPU code, and what a library links.

# NVIDIA's own projects: cuBLAS chooses among thousands of modules and cuFFT loads by itself, so to count their modules
# says nothing (cuFFT 12.2 looks dead on sm_89 and runs). What they need is in compat/libraries.json and torch's pins.
NVIDIA = "nvidia-"
_OF_TORCH = ("libtorch", "libc10")


def packages(environment: Environment) -> tuple[tuple[Reading, ...], tuple[tuple[str, str], ...]]:
    """Every other package with GPU code of its own, as it is read; and what could not be read."""
    inspected: list[Reading] = []
    faults: list[tuple[str, str]] = []
    for package in environment.named(""):
        if package.name == "torch" or package.name.startswith((NVIDIA, "triton", "pytorch-triton")):
            continue  # triton's own code is a profiler's; it compiles what it runs
        try:
            reading = readings.read_distribution(package, package.name)
        except WheelError as error:
            faults.append((package.label, error.message))
            continue
        if any(
            library.code.total and judging.is_counted(os.path.basename(library.path)) for library in reading.libraries
        ):
            inspected.append(reading)
    return tuple(inspected), tuple(faults)


def version(folder: str, package: str) -> str | None:
    """What a companion's version file says, local label included."""
    return distributions.parse_version_file(world.text_of(os.path.join(folder, package, "version.py"))).version


def needs(path: str) -> tuple[str, ...]:
    """The libraries that a library asks the loader for."""
    needed, _, _ = links(path)
    return needed


def links(path: str) -> Links:
    """What a library asks the loader for, and where; nothing where it cannot be read."""
    try:
        file = os.stat(path)
    except OSError:
        return NO_LINKS
    return _needs(path, file.st_ino, file.st_size, file.st_mtime_ns)


@lru_cache(maxsize=4096)
def _needs(path: str, *_file: int) -> Links:
    """Several checks ask of a library; in a notebook another may lie at its path by the next examination."""
    try:
        return librarycode.look_into(path, read_links) or NO_LINKS
    except WheelError:
        return NO_LINKS


def is_of_torch(library: str) -> bool:
    return library.startswith(_OF_TORCH)


def links_torch(package: Distribution) -> bool:
    """Whether a package is compiled against torch: its libraries ask for torch's."""
    paths = (os.path.join(package.folder, path) for path in distributions.libraries(package))
    return any(is_of_torch(name) for path in paths for name in needs(path))


def loaded_libraries(package: Distribution) -> list[str]:
    """The libraries of a package that are loaded; where there is one per CUDA (bitsandbytes), none is asked about."""
    paths = distributions.libraries(package)
    per_cuda = sum("_cuda1" in path for path in paths) > 1
    return [os.path.join(package.folder, path) for path in paths if not (per_cuda and "_cuda1" in path)]
