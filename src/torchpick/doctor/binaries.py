"""What the reader of wheels finds in an environment, as the facts that doctor judges. Here those two edges meet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from torchpick.doctor.facts import NVIDIA, GpuSupport, InspectedPackage, PartialLibrary
from torchpick.environment import distributions as installed
from torchpick.environment.distributions import Distribution, Environment, Fault
from torchpick.errors import WheelError
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu
from torchpick.model.noun import Noun
from torchpick.model.verdict import FAILS, NO_CODE
from torchpick.wheels import inplace, loaded, reading, verdict
from torchpick.wheels.library import Library, union
from torchpick.wheels.linked import Linked
from torchpick.wheels.verdict import Judge

_TORCH_LIBRARY = re.compile(r"[\w.-]+\.(?:so|dll)")
_PYTHON_LIBRARIES = ("lib/libtorch_python.so", "lib/torch_python.dll", "lib/libtorch_python.dylib")
# A library per CUDA, as bitsandbytes has them.
_PER_CUDA = re.compile(r"cuda(\d{3})\b")


class TorchFiles(Noun):
    """What the files of a torch say: its version file, its compiled flags, and which of its files are gone."""

    folder: str
    version: str
    cuda: str | None
    hip: str | None
    arches: tuple[Arch, ...] | None
    missing: tuple[str, ...]


class FoundPackages(Noun):
    """The packages with GPU code, and what of them could not be read."""

    packages: tuple[InspectedPackage, ...]
    faults: tuple[Fault, ...]


def torch(environment: Environment) -> TorchFiles | None:
    """The torch that an import would find; None where there is none, or its version cannot be read."""
    if not environment.torches:
        return None
    folder = environment.torches[0]
    facts = reading.torch_facts(installed.text(os.path.join(folder, "torch", "version.py")))
    one = environment.find("torch")
    version = facts.version or (one.version if one is not None else None)
    if version is None:
        return None
    own = [os.path.join(folder, "torch", name) for name in _PYTHON_LIBRARIES]
    flags = next((found for path in own if (found := inplace.compiled_flags(path)) is not None), None)
    arches = None if flags is None else flags.arches
    if arches is None and facts.cuda is not None:
        arches = _by_libraries(folder)
    return TorchFiles(folder, version, facts.cuda, facts.hip, arches, _missing(folder, one))


def _by_libraries(folder: str) -> tuple[Arch, ...] | None:
    """Where torch's own list is not to be found, what the largest of its libraries registers."""
    for path, name in _torch_libraries(folder):
        if name.partition(".")[0].removeprefix("lib") == "torch_cuda":
            one = inplace.registered(path, name)
            return None if one is None or not one.code.total else (*one.sass, *one.ptx)
    return None


def _missing(folder: str, one: Distribution | None) -> tuple[str, ...]:
    """Recorded libraries of torch, and the files that its import starts with, that are not there."""
    named = ["torch/__init__.py"]
    if one is not None and one.folder == folder:
        named += [path for path in installed.libraries(one) if path.startswith("torch/")]
    return tuple(path for path in named if not os.path.exists(os.path.join(folder, path)))


def partial(files: TorchFiles, gpus: Iterable[Gpu], judge: Judge) -> tuple[PartialLibrary, ...]:
    """Libraries of torch that do not support a GPU; not its main one, where its compiled flags are known."""
    libraries = tuple(
        library
        for path, name in _torch_libraries(files.folder)
        if (library := inplace.registered(path, name)) is not None and library.code.total
    )
    found = []
    for gpu in gpus:
        if gpu.arch is None:
            continue
        for_gpu = judge._replace(gpu=gpu.arch)
        verdicts = verdict.of_torch(libraries, for_gpu) if files.arches else verdict.of_libraries(libraries, for_gpu)
        found += [PartialLibrary(library.path, gpu.index, library.text) for library in verdicts if library.fails]
    return tuple(sorted(found, key=lambda library: (library.name, library.gpu)))


def _torch_libraries(folder: str) -> Iterator[tuple[str, str]]:
    lib = os.path.join(folder, "torch", "lib")
    try:
        names = sorted(os.listdir(lib))
    except OSError:
        return
    yield from (
        (os.path.join(lib, name), name) for name in names if _TORCH_LIBRARY.fullmatch(name) and loaded.counts(name)
    )


def packages(environment: Environment, gpus: tuple[Gpu, ...], judge: Judge, torch_cuda: str | None) -> FoundPackages:
    """Every other package with GPU code of its own, judged for each GPU; and what could not be read."""
    found: list[InspectedPackage] = []
    faults: list[Fault] = []
    for one in environment.named(""):
        if one.name == "torch" or one.name.startswith((NVIDIA, "triton", "pytorch-triton")):
            continue  # triton's own code is a profiler's; it compiles what it runs
        held = []
        for path in installed.libraries(one):
            if not loaded.counts(path.rpartition("/")[2]):
                continue
            try:
                library = inplace.registered(os.path.join(one.folder, path), path)
            except WheelError as error:
                faults.append(Fault(one.label, error.message))
                continue
            if library is not None and library.code.total:
                held.append(library)
        if held:
            found.append(_package(one, tuple(held), gpus, judge, torch_cuda))
    return FoundPackages(tuple(found), tuple(faults))


def _package(
    one: Distribution, held: tuple[Library, ...], gpus: tuple[Gpu, ...], judge: Judge, torch_cuda: str | None
) -> InspectedPackage:
    here = loaded.chosen(held, torch_cuda).libraries
    arches = union([*(library.sass for library in here), *(library.ptx for library in here)])
    others = {match[1] for library in held if (match := _PER_CUDA.search(library.path))} if here != held else set()
    cudas = (f"{number[:2]}.{number[2]}" for number in sorted(others))
    with_cuda = [cuda for cuda in cudas if _supports_all(one, loaded.chosen(held, cuda).libraries, gpus, judge)]
    support = _support(one, here, gpus, judge)
    return InspectedPackage(one.name, one.version, arches, support, tuple(with_cuda) if gpus else ())


def _supports_all(one: Distribution, libraries: tuple[Library, ...], gpus: tuple[Gpu, ...], judge: Judge) -> bool:
    return not any(support.word in FAILS for support in _support(one, libraries, gpus, judge))


def _support(
    one: Distribution, libraries: tuple[Library, ...], gpus: tuple[Gpu, ...], judge: Judge
) -> tuple[GpuSupport, ...]:
    found = []
    for gpu in gpus:
        if gpu.arch is not None and gpu.vendor == "nvidia":
            package = verdict.of_package(libraries, judge._replace(gpu=gpu.arch), one.name)
            found.append(GpuSupport(gpu.index, package.word or NO_CODE, package.failing))
    return tuple(found)


def version(folder: str, package: str) -> str | None:
    """What a companion's version file says, local label included."""
    return reading.torch_facts(installed.text(os.path.join(folder, package, "version.py"))).version


def needs(path: str) -> Linked:
    """What a library asks the loader for; nothing where it cannot be read."""
    try:
        file = os.stat(path)
    except OSError:
        return Linked()
    return _needs(path, file.st_ino, file.st_size, file.st_mtime_ns)


@lru_cache(maxsize=4096)
def _needs(path: str, *_file: int) -> Linked:
    """Several checks ask of a library; in a notebook another may lie at its path by the next examination."""
    try:
        return inplace.needs(path) or Linked()
    except WheelError:
        return Linked()


def links_torch(one: Distribution) -> bool:
    """Whether a package is compiled against torch: its libraries ask for torch's."""
    paths = (os.path.join(one.folder, path) for path in installed.libraries(one))
    return any(name.startswith(("libtorch", "libc10")) for path in paths for name in needs(path).needed)
