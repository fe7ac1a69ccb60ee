"""The facts that doctor judges: the environment's torch as a build of its own, and what is installed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchpick.decide import resolve
from torchpick.decide.wishes import is_backend
from torchpick.doctor import required
from torchpick.doctor.facts import Absent, Companion, Facts, GoneFiles, InspectedPackage, InstalledTorch
from torchpick.environment import shellvariables
from torchpick.environment.distributions import Environment
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.rules import triton_floors
from torchpick.model.arch import Arch
from torchpick.model.build import COMPANIONS, Build, Evidence
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.request import Wish
from torchpick.model.table import Shelf, Table
from torchpick.model.versions import is_dotted, release_key

# The readers of wheels and of settings are imported where there is a torch to read: an answer about one that is not
# there does not wait for them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.doctor.binaries import TorchFiles

# `nvidia-cuda-runtime-cu12==12.8.90`, and from CUDA 13 on `cuda-toolkit[cublas,…]==13.0.2`.
_RUNTIME = re.compile(r"(?:nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit)(?:\[[^\]]*\])? *\(?==(\d+)\.(\d)[.\d]*")
# Companions whose version file carries the local label, which their metadata may leave out.
_LABELLED = (*COMPANIONS, "torchcodec")


class Circumstances(Noun):
    """What facts are gathered from, beside the environment itself."""

    knowledge: Knowledge
    folder: str
    table: Table
    machine: Machine
    given_gpus: bool
    index_base: str


def torch_alone(here: Environment, around: Circumstances) -> Facts:
    """Torch and the shell, and nothing that takes longer."""
    torch = None
    if here.torches:
        from torchpick.doctor import binaries

        files = binaries.torch(here)
        torch = None if files is None else _torch(files, here, around)
    outside = shellvariables.read(around.knowledge.environ)
    return Facts(here, around.machine, torch, shell=outside, floors=around.table.floors)


def everything(here: Environment, around: Circumstances) -> Facts:
    """All that a check may look at."""
    from torchpick.decide.packagefit import Situation
    from torchpick.doctor import binaries, cudas, loader
    from torchpick.environment import torchsettings
    from torchpick.knowledge.packages import KnownPackages
    from torchpick.wheels.verdict import Judge

    machine, table = around.machine, around.table
    files = binaries.torch(here)
    torch = None if files is None else _torch(files, here, around)
    outside = shellvariables.read(around.knowledge.environ)
    unified = torch is not None and torch.verdict is not None and torch.verdict.build.unified
    gpus = tuple(gpu for gpu in machine.counted if gpu.vendor == "nvidia" and gpu.arch is not None)
    # The GPU is set for each in its turn.
    judge = Judge.of(Arch.of_capability(0, 0), machine.driver, table.drivers, unified=unified)
    if files is not None and torch is not None:
        torch = torch._replace(partial=binaries.partial(files, gpus, judge))
    found = binaries.packages(here, gpus, judge, None if torch is None else torch.cuda)
    if torch is not None:
        torch = torch._replace(missing=tuple(dict.fromkeys((*torch.missing, *_gone_of_torch(here)))))
    known = KnownPackages(around.knowledge.environ, machine.platform.name)
    looks = torch is not None and not around.given_gpus and machine.platform.os == "linux"
    folders = loader.LoaderFolders(here, outside)
    absent: tuple[Absent, ...] = loader.absent(here, found.packages, folders) if looks else ()
    if gpus and not around.given_gpus and machine.platform.os == "linux":
        opened = cudas.absent(here, known, folders)
        absent = (*absent, *(one for one in opened if one not in absent))
    return Facts(
        environment=here._replace(faults=(*here.faults, *found.faults)),
        machine=machine,
        torch=torch,
        packages=found.packages,
        companions=tuple(_companions(here, torch, around)) if torch is not None else (),
        demands=tuple(required.unmet(here, torch, machine)),
        required=tuple(required.missing(here, machine)),
        gone=tuple(_gone(here, found.packages)),
        troubles=tuple(cudas.troubles(here, torch, Situation(machine, table), known)),
        rivals=tuple(cudas.rivals(here, known)),
        absent=absent,
        cuda_is_found=looks and loader.cuda_is_found(here, absent),
        torch_is_wanted=torch is not None or required.torch_is_wanted(here),
        twins=loader.twins(here),
        shell=outside,
        overrides=loader.overrides(here, outside),
        settings=torchsettings.read(around.knowledge.environ, here.prefix, around.folder, around.index_base),
        lock=torchsettings.lock(here.prefix),
        floors=table.floors,
        triton_floor=_triton_floor(here, around.knowledge),
    )


def _torch(files: TorchFiles, here: Environment, around: Circumstances) -> InstalledTorch:
    """The installed torch, with resolve's verdict on the build that it is."""
    version = files.version
    backend = _backend(files)
    release = version.partition("+")[0]
    row = _row(around, release, backend)
    arches = files.arches if files.arches is not None or row is None else row.arches
    torch = InstalledTorch(
        version=version if "+" in version or backend == "cpu" else f"{version}+{backend}",
        release=release,
        backend=backend,
        cuda=files.cuda,
        folder=files.folder,
        arches=arches,
        measured=files.arches is not None,
        missing=files.missing,
    )
    if backend == "cpu":
        return torch
    build = Build(
        torch=_release(release),
        backend=backend,
        platform=around.machine.platform.name,
        version=torch.version,
        cuda=files.cuda,
        arches=arches,
        pythons=(around.machine.python.tag,),
        tags=(),
        glibc=None,
        libraries=_libraries(here, files.cuda, row),
        lacks={},
        published=True,
        yanked=False,
        companions={},
        companion_basis={},
        evidence=Evidence("measured" if torch.measured else "declared", files.folder),
    )
    # What is installed was wished for: neither its backend nor a pre-release is an objection any more.
    wish = Wish(backends=(backend,), channel="nightly")
    alone = around.table._replace(builds={build.platform: Shelf.of([build])})
    return torch._replace(verdict=next(resolve.judge(around.machine, alone, wish)))


def _backend(files: TorchFiles) -> str:
    """The backend by the local label, else by what the version file says it was built with."""
    label = files.version.partition("+")[2]
    if is_backend(label):
        return label
    if files.cuda is not None:
        return "cu" + files.cuda.replace(".", "")
    return f"rocm{files.hip}" if files.hip is not None else "cpu"


def backend_of(facts: Facts) -> str | None:
    """The backend that the environment was made for; by the metadata where torch itself is gone."""
    if facts.torch is not None:
        return facts.torch.backend if is_backend(facts.torch.backend) else None
    one = facts.environment.find("torch")
    if one is None:
        return None
    label = one.version.partition("+")[2]
    if is_backend(label):
        return label
    # The default index's wheels have no label, but they pin the CUDA runtime.
    pins = (match for line in one.requires if (match := _RUNTIME.match(line)))
    return next((f"cu{match[1]}{match[2]}" for match in pins), None)


def _release(text: str) -> str:
    """A version that a source build made up counts as the oldest."""
    try:
        release_key(text)
    except ValueError:
        return "0"
    return text


def _row(around: Circumstances, release: str, backend: str) -> Build | None:
    """The table's row of the same release and backend."""
    shelf = around.table.of(around.machine.platform.name)
    builds = shelf.builds(release) if release in shelf.releases() else ()
    return next((build for build in builds if build.backend == backend), None)


def _libraries(here: Environment, cuda: str | None, row: Build | None) -> Mapping[str, str]:
    """The cuDNN that is installed; where it lies inside torch, as the table says."""
    major = (cuda or "").split(".")[0]
    for one in here.named("nvidia-cudnn-cu"):
        if one.name.endswith(f"-cu{major}") and is_dotted(one.version):
            return {"cudnn": one.version}
    return {name: version for name, version in row.libraries.items() if name == "cudnn"} if row is not None else {}


def _companions(here: Environment, torch: InstalledTorch, around: Circumstances) -> Iterator[Companion]:
    from torchpick.doctor import binaries

    row = _row(around, torch.release, torch.backend)
    for name in _LABELLED:
        one = here.find(name)
        if one is None:
            continue
        # Only what a companion's own metadata or its maintainers say; an inferred pair is no ground for a finding.
        known = row is not None and row.companion_basis.get(name) in ("metadata", "declared")
        expected = row.companions.get(name) if row is not None and known else None
        yield Companion(name, binaries.version(one.folder, name) or one.version, expected)


def _gone_of_torch(here: Environment) -> tuple[str, ...]:
    from torchpick.doctor import integrity

    one = here.find("torch")
    return () if one is None else integrity.gone(one)


def _gone(here: Environment, packages: tuple[InspectedPackage, ...]) -> Iterator[GoneFiles]:
    """Files that are gone of what torch needs, and of what has code for a GPU."""
    from torchpick.doctor import integrity

    names = {package.name for package in packages}
    for one in here.named(""):
        relevant = (
            one.name in names or one.name in _LABELLED or one.name.startswith(required.OF_TORCH) or one.name == "numpy"
        )
        if relevant and (paths := integrity.gone(one)):
            yield GoneFiles(one.name, one.label, paths)


def _triton_floor(here: Environment, knowledge: Knowledge) -> tuple[int, int] | None:
    """The oldest capability that the installed triton supports, as far as that is sure."""
    one = here.find("triton")
    if one is None or not is_dotted(one.version):
        return None
    rows = knowledge.file("libraries.json", triton_floors)
    sure = [floor for since, floor in rows if release_key(since) <= release_key(one.version)]
    return sure[-1] if sure else None
