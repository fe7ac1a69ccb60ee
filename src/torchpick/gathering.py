"""The facts that doctor judges: the environment's torch as a build of its own, and what stands beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from torchpick import resolve, shipped
from torchpick.doctor import shell
from torchpick.doctor.cure import Ask
from torchpick.doctor.facts import Companion, Demand, Distribution, Environment, Facts, Torch, normal
from torchpick.model.arch import Arch
from torchpick.model.build import COMPANIONS, Build, Evidence
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.rules import triton_floors
from torchpick.model.specifiers import admits
from torchpick.model.table import Shelf, Table
from torchpick.model.versions import is_dotted, release_key
from torchpick.model.wish import Wish
from torchpick.places import compat_dir
from torchpick.question import is_backend

# The readers of wheels and of settings are imported where there is a torch to read: an answer about one that is not
# there does not wait for them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.readings import TorchFiles

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?", re.DOTALL)
_OF_TORCH = ("nvidia-", "cuda-", "triton", "pytorch-triton")
# Companions whose version file carries the local label, which their metadata may leave out.
_LABELLED = (*COMPANIONS, "torchcodec")


class Around(Noun):
    """What facts are gathered from, beside the environment itself."""

    environ: Mapping[str, str]
    folder: str
    table: Table
    machine: Machine
    told: bool


def torch_alone(here: Environment, around: Around) -> Facts:
    """Torch and the shell, and nothing that takes longer."""
    torch = None
    if here.torches:
        from torchpick import readings

        files = readings.torch(here)
        torch = None if files is None else _torch(files, here, around)
    outside = shell.read(around.environ)
    return Facts(here, around.machine, torch, shell=outside, floors=around.table.floors, told=around.told)


def everything(here: Environment, around: Around) -> Facts:
    """All that a check may look at."""
    from torchpick import loading, readings
    from torchpick.doctor import settings
    from torchpick.wheels.judge import Judge

    machine, table = around.machine, around.table
    files = readings.torch(here)
    torch = None if files is None else _torch(files, here, around)
    outside = shell.read(around.environ)
    spoken = None if machine.driver is None else table.drivers.speaks(machine.driver)
    unified = torch is not None and torch.verdict is not None and torch.verdict.build.unified
    gpus = tuple(gpu for gpu in machine.counted if gpu.vendor == "nvidia" and gpu.arch is not None)
    asks = Judge(Arch.of_capability(0, 0), spoken, unified)  # the GPU is set for each in its turn
    if files is not None and torch is not None:
        torch = torch._replace(partial=readings.partial(files, gpus, asks))
    packages, faults = readings.packages(here, gpus, asks, None if torch is None else torch.cuda)
    looks = torch is not None and not around.told and machine.platform.os == "linux"
    return Facts(
        environment=here._replace(faults=(*here.faults, *faults)),
        machine=machine,
        torch=torch,
        packages=tuple(packages),
        companions=tuple(_companions(here, torch, around)) if torch is not None else (),
        demands=tuple(_demands(here, torch, machine)),
        absent=loading.absent(here, packages, outside) if looks else (),
        twins=loading.twins(here),
        shell=outside,
        overrides=loading.overrides(here, outside),
        settings=settings.read(around.environ, here.prefix, around.folder),
        lock=settings.lock(here.prefix),
        floors=table.floors,
        triton_floor=_triton_floor(here, around.environ),
        told=around.told,
    )


def _torch(files: TorchFiles, here: Environment, around: Around) -> Torch:
    """The installed torch, with resolve's verdict on the build that it is."""
    version = files.version
    backend = _backend(files)
    release = version.partition("+")[0]
    row = _row(around, release, backend)
    arches = files.arches if files.arches is not None or row is None else row.arches
    torch = Torch(
        version=version if "+" in version or backend == "cpu" else f"{version}+{backend}",
        release=release,
        backend=backend,
        cuda=files.cuda,
        hip=files.hip,
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
        companion_basis="",
        evidence=Evidence("measured" if torch.measured else "declared", files.folder),
    )
    # What is installed was wished for: neither its backend nor a pre-release is an objection any more.
    wish = Wish(backends=(backend,), channel="nightly", allow_unconfirmed=True)
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


def _release(text: str) -> str:
    """A version that a source build made up counts as the oldest."""
    try:
        release_key(text)
    except ValueError:
        return "0"
    return text


def _row(around: Around, release: str, backend: str) -> Build | None:
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


def _companions(here: Environment, torch: Torch, around: Around) -> Iterator[Companion]:
    from torchpick import readings

    row = _row(around, torch.release, torch.backend)
    for name in _LABELLED:
        one = here.find(name)
        if one is None:
            continue
        # Only what a companion's own metadata or its maintainers say; an inferred pair is no ground for a finding.
        known = row is not None and row.companion_basis in ("metadata", "declared")
        expected = row.companions.get(name) if row is not None and known else None
        yield Companion(name, readings.version(one.folder, name) or one.version, expected)


def asks(here: Environment) -> Iterator[Ask]:
    """What installed packages ask of torch; the companions that are pinned with it are not heard."""
    for one, name, specifier, marker in _requirements(here):
        if name == "torch" and one.name not in ("torch", *COMPANIONS) and _applies(marker, here, None):
            try:
                yield Ask(one.label, f"torch{specifier}", admits(specifier, prereleases=True))
            except ValueError:
                continue


def _demands(here: Environment, torch: Torch | None, machine: Machine) -> Iterator[Demand]:
    """Requirements on torch, and torch's own on the libraries of CUDA, held against what is installed."""
    from torchpick import readings

    for one, name, specifier, marker in _requirements(here):
        if not (name == "torch" or (one.name == "torch" and name.startswith(_OF_TORCH))) or not specifier:
            continue
        other = here.find(name)
        has = torch.version if name == "torch" and torch is not None else other.version if other is not None else None
        if has is None:
            continue  # what is missing shows as a library that is missing
        try:
            met = admits(specifier, prereleases=True)(has)
        except ValueError:
            continue
        if not met and _applies(marker, here, machine):
            links = name == "torch" and readings.links_torch(one)
            yield Demand(one.label, f"{name}{specifier}", name, f"{name} {has}", met, links)


def _requirements(here: Environment) -> Iterator[tuple[Distribution, str, str, str]]:
    for one in here.named(""):
        for line in one.requires:
            match = _REQUIREMENT.fullmatch(line.strip())
            if match is not None:
                yield one, normal(match[1]), match[2].strip(), (match[3] or "").strip()


def _applies(marker: str, here: Environment, machine: Machine | None) -> bool:
    """Whether a requirement's marker holds for the environment; an extra's is nobody's demand."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    facts = {"python_version": here.version, "python_full_version": f"{here.version}.0", "extra": ""}
    if machine is not None:
        os_name = machine.platform.os
        facts["sys_platform"] = {"windows": "win32", "macos": "darwin"}.get(os_name, os_name)
        facts["platform_system"] = {"windows": "Windows", "macos": "Darwin"}.get(os_name, "Linux")
        facts["platform_machine"] = machine.platform.cpu
    try:
        return Marker(marker).evaluate(facts)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return False


def _triton_floor(here: Environment, environ: Mapping[str, str]) -> tuple[int, int] | None:
    """The oldest capability that the installed triton serves, as far as that is sure."""
    one = here.find("triton")
    if one is None or not is_dotted(one.version):
        return None
    file = os.path.join(compat_dir(environ), "libraries.json")
    rows = shipped.read(file, triton_floors)
    sure = [floor for since, floor in rows if release_key(since) <= release_key(one.version)]
    return sure[-1] if sure else None
