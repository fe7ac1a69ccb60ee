"""What the loader of this machine will do, and what around the environment leads it astray."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain

from torchpick.doctor import depends, gpusupport, installedtorch
from torchpick.doctor.installedtorch import NVIDIA
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions, world
from torchpick.model.finding import WARNING, Ailment, Finding
from torchpick.model.versions import grouped, some_of

_HIDING = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}


def hidden(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """A variable that hides every GPU; to hide some of them is a choice."""
    for name, vendor in _HIDING.items():
        value = subject.variables.get(name)
        gpus = [gpu.index for gpu in subject.gpus if gpu.vendor == vendor]
        if value is None or not gpus:
            continue
        first = value.split(",")[0].strip()
        if not (first[:1].isdigit() or first[:1] == "+" or "-" in first[1:]):
            yield Finding(
                Ailment.GPUS_HIDDEN,
                f"{name} is {value!r}, which hides every GPU",
                {"variable": name, "value": value, "hidden": gpus},
                cure=f"unset {name}",
            )


# The libraries of CUDA and what NVIDIA ships beside it, by soname.
_CUDA_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|cufft\w*|cupti|curand|cusolver\w*|cusparse\w*|cufile\w*|nccl|nvrtc\S*"
    r"|nvJitLink|nvToolsExt|nvshmem\w*|caffe2_nvrtc)\.so(?:\.[0-9]+)+"
)
_MOST_FOLDERS = 200
SYSTEM = ("/usr/local/cuda/lib64", "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/usr/lib/wsl/lib")
CACHE = "/etc/ld.so.cache"
_MOST_CACHE = 16 << 20
# `import torch` does without these (torch 2.9.1: triton for torch.compile, the others for export, hub and saving).
_SPARE = frozenset({"triton", "pytorch-triton", "filelock", "fsspec", "jinja2", "networkx"})
_OF_CUDA = ("nvidia-", "cuda-")
_MOST_SHOWN = 20


class LoaderFolders:
    """The folders of the loader beyond the environment; its cache is read at the first question."""

    def __init__(self, environment: distributions.Environment, variables: Mapping[str, str]) -> None:
        named = variables.get("LD_LIBRARY_PATH", "").split(":")
        own = [os.path.join(environment.prefix, *folder) for folder in (("lib",), ("targets", "x86_64-linux", "lib"))]
        folders = [folder for folder in (*named, *own, *SYSTEM) if folder]
        self.folders = [*folders, *(f"/usr/lib/{cpu}-linux-gnu" for cpu in ("x86_64", "aarch64"))]

    @cached_property
    def cache(self) -> bytes:
        return world.start_of(CACHE, _MOST_CACHE) or b""

    def has(self, name: str) -> bool:
        if b"\0" + name.encode() + b"\0" in self.cache:
            return True
        return any(os.path.exists(os.path.join(folder, name)) for folder in self.folders)


def lacking(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Packages that torch or a companion requires, and libraries that the loader finds nowhere: each said once."""
    absent = absent_libraries(subject)
    demands = depends.missing(subject)
    yield from required(demands, cuda_is_found=_cuda_is_found(subject, absent))
    # These are said with the package that should have brought them, or with the CUDA that does not belong.
    named = {package.label for package, demand in demands if demand.name.startswith(_OF_CUDA)}
    yield from nowhere(absent, named | (gpusupport.mixed(subject) if absent else set()))


def required(demands: Sequence[depends.Demand], *, cuda_is_found: bool) -> Iterator[Finding]:
    """What is required and not installed, by package; `cuda_is_found`: an image may bring CUDA by other means."""
    for package, of_package in grouped((package.label, demand) for package, demand in demands).items():
        # What CUDA consists of first: without it nothing loads.
        texts = [demand.text for demand in sorted(of_package, key=lambda demand: not demand.name.startswith(_OF_CUDA))]
        elsewhere = cuda_is_found and all(demand.name.startswith(_OF_CUDA) for demand in of_package)
        shown = some_of(texts, _MOST_SHOWN)
        yield Finding(
            Ailment.REQUIREMENT_MISSING,
            f"{package} requires {shown}, and {'they are' if len(texts) > 1 else 'it is'} not installed",
            {"package": package, "missing": [demand.text for demand in of_package]},
            advice="its CUDA libraries are found elsewhere on this machine" if elsewhere else None,
            by_torch=True,
            weight=WARNING if elsewhere or all(demand.name in _SPARE for demand in of_package) else None,
        )


def nowhere(absent: Sequence[tuple[str, str]], explained: set[str]) -> Iterator[Finding]:
    """The libraries that are nowhere, by package; CUDA's are known already of those that `said` names."""
    # What torch itself misses, the others miss for the same reason.
    of_torch = {library for library, package in absent if package.startswith("torch ")}
    for package, wanted in grouped((package, library) for library, package in absent).items():
        is_torch = package.startswith("torch ")
        libraries = [library for library in wanted if is_torch or library not in of_torch]
        linking = [library for library in libraries if installedtorch.is_of_torch(library)]
        libraries = linking if package in explained else libraries
        if not libraries:
            continue
        name = package.partition(" ")[0]
        advice = f"install the {name} that was built for the CUDA of this torch, not the missing library"
        if linking:
            advice = f"install the release of {name} that was built for this torch"
        yield Finding(
            Ailment.MISSING_LIBRARY,
            f"{package} needs {some_of(libraries, 4)}, which is in no package here and in no folder of the loader",
            {"package": package, "libraries": libraries},
            advice=None if is_torch else advice,
            by_torch=is_torch,
        )


def absent_libraries(subject: EnvironmentUnderTest) -> tuple[tuple[str, str], ...]:
    """What torch or a package with GPU code asks the loader for, or opens by name, and is nowhere; and which asks."""
    if not subject.is_here:
        return ()
    folders = LoaderFolders(subject.environment, subject.variables)
    absent = list(_linked(subject, folders)) if subject.torch is not None else []
    absent += _opened(subject, folders) if subject.machine.nvidia else []
    return tuple(dict.fromkeys(absent))


def _linked(subject: EnvironmentUnderTest, elsewhere: LoaderFolders) -> Iterator[tuple[str, str]]:
    here = subject.environment
    names = ("torch", *(package.target for package in subject.inspected))
    wanting = [package for name in names if (package := here.find(name)) is not None]
    held = {
        path.rpartition("/")[2]
        for package in here.distributions
        if package.name.startswith((NVIDIA, "torch")) or package in wanting
        for path in distributions.libraries(package)
        if os.path.exists(os.path.join(package.folder, path))
    }
    for package in wanting:
        missed: set[str] = set()
        for path in installedtorch.loaded_libraries(package):
            needed, *folders = installedtorch.links(path)
            counted = {name for name in needed if installedtorch.is_of_torch(name) or _is_of_cuda(name)}
            for name in sorted(counted - held - missed):
                if not _is_along(path, chain(*folders), name) and not elsewhere.has(name):
                    missed.add(name)
                    yield name, package.label


def _opened(subject: EnvironmentUnderTest, elsewhere: LoaderFolders) -> Iterator[tuple[str, str]]:
    """The libraries that a package opens by name (its own metadata does not say so) and that are nowhere."""
    here = subject.environment
    rows = ((package, gpusupport.row_of(package, subject.known)) for package in here.named(""))
    nowhere = [
        (package, library)
        for package, row in rows
        if row is not None
        for library in row.needs
        if not library.startswith("libcuda.so") and not elsewhere.has(library)
    ]
    if nowhere:
        held = {path.rpartition("/")[2] for package in here.named("") for path in distributions.libraries(package)}
        yield from ((library, package.label) for package, library in nowhere if library not in held)


def _is_of_cuda(name: str) -> bool:
    # libcuda comes with the driver, and detection says whether that is there.
    return _CUDA_LIBRARY.fullmatch(name) is not None and not name.startswith("libcuda.so")


def _is_along(path: str, folders: Iterable[str], name: str) -> bool:
    origin = os.path.dirname(path)
    return any(
        os.path.exists(os.path.join(folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin), name))
        for folder in folders
    )


def _cuda_is_found(subject: EnvironmentUnderTest, absent: Sequence[tuple[str, str]]) -> bool:
    """Whether torch asks for CUDA's libraries and the loader finds every one, wherever they lie."""
    torch = subject.environment.find("torch")
    if torch is None or not subject.is_here or any(package == torch.label for _, package in absent):
        return False
    return any(
        _is_of_cuda(name) for path in installedtorch.loaded_libraries(torch) for name in installedtorch.needs(path)
    )


def library_path(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """The environment's libraries that LD_LIBRARY_PATH replaces."""
    # An empty entry is the current folder (ld.so(8)).
    folders = [*filter(None, re.split("[:;]", subject.variables.get("LD_LIBRARY_PATH", "")))][:_MOST_FOLDERS]
    if not folders or not subject.environment.torches:
        return
    packages = [package for package in subject.environment.distributions if package.name.startswith(NVIDIA)]
    own = {os.path.basename(path): path for package in packages for path in _paths(package)}
    first = (
        (next((folder for folder in folders if os.path.exists(os.path.join(folder, name))), ""), name) for name in own
    )
    found = [(folder, name) for folder, name in sorted(first) if folder and not _is_same(folder, name, own[name])]
    looked_for = _looked_for(subject, own.values()) if found else set()
    for folder, names in grouped((folder, name) for folder, name in found if name in looked_for).items():
        yield Finding(
            Ailment.LIBRARY_PATH,
            f"LD_LIBRARY_PATH puts {folder} first, so {', '.join(names[:4])} come from there and not from "
            "the environment",
            {"folder": folder, "libraries": names},
            cure="unset LD_LIBRARY_PATH",
            advice="torch brings its own CUDA; leave the folder out for programs that use it",
        )


def _is_same(folder: str, name: str, path: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(os.path.join(folder, name), path)
    return False


def _paths(package: distributions.Distribution) -> list[str]:
    return [os.path.join(package.folder, path) for path in distributions.libraries(package)]


def _looked_for(subject: EnvironmentUnderTest, own: Iterable[str]) -> set[str]:
    """The libraries that the loader looks for in LD_LIBRARY_PATH before it finds NVIDIA's own here.

    A library looks along its rpath before LD_LIBRARY_PATH, along its runpath after it (ld.so(8)). torch has an rpath;
    NVIDIA's libraries have a runpath, and cuDNN opens its parts by name.
    """
    safe: set[str] = set()
    open_ = {name for name in map(os.path.basename, own) if name.startswith("libcudnn_")}
    torch = subject.environment.find("torch")
    of_torch = [] if torch is None else _paths(torch)
    loaded = (path for path in of_torch if os.path.basename(path).startswith(("libtorch", "libc10", "libcaffe2")))
    for path in (*own, *loaded):
        needed, rpath, runpath = installedtorch.links(path)
        (safe if rpath and not runpath else open_).update(needed)
    return open_ - safe
