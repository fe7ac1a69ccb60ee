"""What the reader of wheels finds in an environment, as the facts that doctor judges. Here those two edges meet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from torchpick.doctor import environment as installed
from torchpick.doctor.facts import NOT, NVIDIA, PARTLY, RUNS, Distribution, Environment, Fault, Package, Served
from torchpick.errors import WheelError
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu
from torchpick.model.noun import Noun
from torchpick.wheels import inplace, judge, reading
from torchpick.wheels.judge import Judge
from torchpick.wheels.library import Library, union
from torchpick.wheels.linked import Linked

# Copies of NVIDIA's libraries inside other packages: their modules are chosen among, so counting them says nothing.
_VENDORED = re.compile(
    r"(?:lib)?(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cufile|cupti|nccl|nvrtc|nvJitLink"
    r"|nvjpeg|nvToolsExt|npp|nvshmem|nvonnxparser|nvinfer)[\w.+-]*\.(?:so[\w.]*|dll)",
    re.IGNORECASE,
)
# The code of torch. Not libtorch_nvshmem: symmetric memory is for data-centre GPUs, others lose nothing else by it.
_TORCH_CODE = re.compile(r"(?:lib)?torch_(?:cuda|hip)\w*\.(?:so|dll)")
_PYTHON_LIBRARIES = ("lib/libtorch_python.so", "lib/torch_python.dll", "lib/libtorch_python.dylib")
# A library per CUDA, as bitsandbytes has them.
_PER_CUDA = re.compile(r"cuda(\d{3})\b")
_MOST_TEXT = 1 << 20


class TorchFiles(Noun):
    """What the files of a torch say: its version file, its compiled flags, and which of its files are gone."""

    folder: str
    version: str
    cuda: str | None
    hip: str | None
    arches: tuple[Arch, ...] | None
    missing: tuple[str, ...]


def torch(environment: Environment) -> TorchFiles | None:
    """The torch that an import would find; None where there is none, or its version cannot be read."""
    if not environment.torches:
        return None
    folder = environment.torches[0]
    facts = reading.torch_facts(text(os.path.join(folder, "torch", "version.py")))
    one = environment.find("torch")
    version = facts.version or (one.version if one is not None else None)
    if version is None:
        return None
    own = [os.path.join(folder, "torch", *name.split("/")) for name in _PYTHON_LIBRARIES]
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
    return tuple(path for path in named if not os.path.exists(os.path.join(folder, *path.split("/"))))


def partial(files: TorchFiles, gpus: Iterable[Gpu], asks: Judge) -> tuple[tuple[str, int, str], ...]:
    """Libraries of torch, beside its main one, whose modules do not serve a GPU."""
    found = []
    for path, name in _torch_libraries(files.folder):
        if name.partition(".")[0].removeprefix("lib") == "torch_cuda" and files.arches:
            continue  # the compiled flags are the list it was built with
        library = inplace.registered(path, name)
        if library is None or not library.code.total:
            continue
        for gpu in gpus:
            verdict = None if gpu.arch is None else judge.library(library, asks._replace(gpu=gpu.arch))
            if verdict is not None and verdict.word in (judge.NOT, judge.PARTLY):
                found.append((name, gpu.index, verdict.text))
    return tuple(found)


def _torch_libraries(folder: str) -> Iterator[tuple[str, str]]:
    lib = os.path.join(folder, "torch", "lib")
    try:
        names = sorted(os.listdir(lib))
    except OSError:
        return
    yield from ((os.path.join(lib, name), name) for name in names if _TORCH_CODE.fullmatch(name))


def packages(
    environment: Environment, gpus: tuple[Gpu, ...], asks: Judge, torch_cuda: str | None
) -> tuple[list[Package], list[Fault]]:
    """Every other package with GPU code of its own, judged for each GPU; and what could not be read."""
    found: list[Package] = []
    faults: list[Fault] = []
    for one in environment.named(""):
        if one.name == "torch" or one.name.startswith((NVIDIA, "triton", "pytorch-triton")):
            continue  # triton's own code is a profiler's; it compiles what it runs
        held = []
        for path in installed.libraries(one):
            if _VENDORED.fullmatch(path.rpartition("/")[2]):
                continue
            try:
                library = inplace.registered(os.path.join(one.folder, path), path)
            except WheelError as error:
                faults.append(Fault(one.label, error.message))
                continue
            if library is not None and library.code.total:
                held.append(library)
        if held:
            found.append(_package(one, tuple(held), gpus, asks, torch_cuda))
    return found, faults


def _package(
    one: Distribution, held: tuple[Library, ...], gpus: tuple[Gpu, ...], asks: Judge, torch_cuda: str | None
) -> Package:
    loaded, _ = judge.chosen(held, torch_cuda)
    served = _each(gpus, loaded, asks)
    arches = union([*(library.sass for library in loaded), *(library.ptx for library in loaded)])
    others = {match[1] for library in held if (match := _PER_CUDA.search(library.path))} if loaded != held else set()
    cudas = (f"{number[:2]}.{number[2]}" for number in sorted(others))
    with_cuda = [
        cuda for cuda in cudas if all(each.word == RUNS for each in _each(gpus, judge.chosen(held, cuda)[0], asks))
    ]
    return Package(one.name, one.version, arches, served, tuple(with_cuda) if gpus else ())


def _each(gpus: tuple[Gpu, ...], libraries: tuple[Library, ...], asks: Judge) -> tuple[Served, ...]:
    return tuple(
        _served(gpu.index, libraries, asks._replace(gpu=gpu.arch))
        for gpu in gpus
        if gpu.arch is not None and gpu.vendor == "nvidia"
    )


def _served(index: int, libraries: tuple[Library, ...], asks: Judge) -> Served:
    verdicts = [(each, verdict) for each in libraries if (verdict := judge.library(each, asks)) is not None]
    failing = [(each, verdict) for each, verdict in verdicts if verdict.word in (judge.NOT, judge.PARTLY)]
    if verdicts and all(verdict.word == judge.NOT for _, verdict in verdicts):
        return Served(index, NOT, tuple((each.path, verdict.text) for each, verdict in failing))
    # A library for one generation alone (FlashMLA of vLLM: sm_90a) is not meant for the others.
    general = tuple((each.path, verdict.text) for each, verdict in failing if len({a.major for a in each.sass}) > 1)
    return Served(index, PARTLY if general else RUNS, general)


def version(folder: str, package: str) -> str | None:
    """What a companion's version file says, local label included."""
    return reading.torch_facts(text(os.path.join(folder, package, "version.py"))).version


@lru_cache(maxsize=4096)
def needs(path: str) -> Linked:
    """What a library asks the loader for; nothing where it cannot be read."""
    try:
        return inplace.needs(path) or Linked()
    except WheelError:
        return Linked()


def links_torch(one: Distribution) -> bool:
    """Whether a package is compiled against torch: its libraries ask for torch's."""
    paths = (os.path.join(one.folder, path) for path in installed.libraries(one))
    return any(name.startswith(("libtorch", "libc10")) for path in paths for name in needs(path).needed)


def text(file: str) -> str:
    """The start of a text file; nothing where it is not there."""
    try:
        with open(file, "rb") as stream:
            return stream.read(_MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""
