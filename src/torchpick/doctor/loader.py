"""What the loader of this machine would do: which of an environment's libraries it misses, and replaces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property

from torchpick.doctor import binaries
from torchpick.doctor.facts import NVIDIA, Absent, InspectedPackage, Override, TwinRuntimes
from torchpick.environment import distributions as installed
from torchpick.environment.distributions import Distribution, Environment
from torchpick.environment.shellvariables import CUDA_LIBRARY, Shell

_SYSTEM = ("/usr/local/cuda/lib64", "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/usr/lib/wsl/lib")
_CACHE = "/etc/ld.so.cache"
_MOST_CACHE = 16 << 20


def absent(
    environment: Environment, packages: Iterable[InspectedPackage], elsewhere: LoaderFolders
) -> tuple[Absent, ...]:
    """CUDA's and torch's libraries that torch or a package with GPU code needs, and that are nowhere."""
    torch = environment.find("torch")
    wanting = [one for one in (torch, *(environment.find(each.name) for each in packages)) if one is not None]
    held = {
        path.rpartition("/")[2]
        for one in environment.distributions
        if one.name.startswith((NVIDIA, "torch")) or one in wanting
        for path in installed.libraries(one)
        if os.path.exists(os.path.join(one.folder, path))
    }

    found = []
    for one in wanting:
        missed: set[str] = set()
        for path in loaded_libraries(one):
            linked = binaries.needs(path)
            asked = {name for name in linked.needed if _concerns(name)} - held - missed
            for name in sorted(asked):
                if not _along(path, (*linked.rpath, *linked.runpath), name) and not elsewhere.has(name):
                    missed.add(name)
                    found.append(Absent(name, one.label))
    return tuple(found)


def _concerns(name: str) -> bool:
    # libcuda comes with the driver, and detection says whether that is there.
    return name.startswith(("libtorch", "libc10")) or _concerns_cuda(name)


def cuda_is_found(environment: Environment, missing: Iterable[Absent]) -> bool:
    """Whether torch asks for CUDA's libraries and the loader finds every one, wherever they lie."""
    torch = environment.find("torch")
    if torch is None or any(one.wanted_by == torch.label for one in missing):
        return False
    return any(_concerns_cuda(name) for path in loaded_libraries(torch) for name in binaries.needs(path).needed)


def _concerns_cuda(name: str) -> bool:
    return CUDA_LIBRARY.fullmatch(name) is not None and not name.startswith("libcuda.so")


def loaded_libraries(one: Distribution) -> Iterator[str]:
    """The libraries of a package that are loaded; where there is one per CUDA (bitsandbytes), none is asked about."""
    paths = installed.libraries(one)
    per_cuda = sum("_cuda1" in path for path in paths) > 1
    yield from (os.path.join(one.folder, path) for path in paths if not (per_cuda and "_cuda1" in path))


def _along(path: str, folders: tuple[str, ...], name: str) -> bool:
    origin = os.path.dirname(path)
    return any(
        os.path.exists(os.path.join(folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin), name))
        for folder in folders
    )


class LoaderFolders:
    """The folders of the loader beyond the environment; its cache is read at the first question."""

    def __init__(self, environment: Environment, shell: Shell) -> None:
        named = shell.variables.get("LD_LIBRARY_PATH", "").split(":")
        own = [
            os.path.join(environment.prefix, "lib"),
            os.path.join(environment.prefix, "targets", "x86_64-linux", "lib"),
        ]
        folders = [folder for folder in (*named, *own, *_SYSTEM) if folder]
        self.folders = [*folders, *(f"/usr/lib/{cpu}-linux-gnu" for cpu in ("x86_64", "aarch64"))]

    @cached_property
    def cache(self) -> bytes:
        try:
            with open(_CACHE, "rb") as file:
                return file.read(_MOST_CACHE)
        except OSError:
            return b""

    def has(self, name: str) -> bool:
        if b"\0" + name.encode() + b"\0" in self.cache:
            return True
        return any(os.path.exists(os.path.join(folder, name)) for folder in self.folders)


def overrides(environment: Environment, shell: Shell) -> tuple[Override, ...]:
    """The environment's libraries that LD_LIBRARY_PATH replaces.

    A library looks along its rpath before LD_LIBRARY_PATH, along its runpath after it (ld.so(8)). torch has an rpath;
    NVIDIA's libraries have a runpath, and cuDNN opens its parts by name.
    """
    folders = [(folder, {*names}) for folder, names in shell.folders]
    if not folders or not environment.torches:
        return ()
    own: dict[str, str] = {}
    safe: set[str] = set()
    open_: set[str] = set()
    for one in environment.distributions:
        if one.name != "torch" and not one.name.startswith(NVIDIA):
            continue
        for relative in installed.libraries(one):
            path = os.path.join(one.folder, relative)
            name = path.rpartition("/")[2]
            if one.name == "torch" and not name.startswith(("libtorch", "libc10", "libcaffe2")):
                continue
            linked = binaries.needs(path)
            if one.name != "torch":
                own[name] = path
            (safe if linked.rpath and not linked.runpath else open_).update(linked.needed)
            if name.startswith("libcudnn_"):
                open_.add(name)
    found = []
    for name in sorted((open_ - safe) & own.keys()):
        folder = next((folder for folder, names in folders if name in names), None)
        if folder is not None and not _same(os.path.join(folder, name), own[name]):
            found.append(Override(name, folder))
    return tuple(found)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def twins(environment: Environment) -> tuple[TwinRuntimes, ...]:
    """NVIDIA projects that are there for two CUDA majors, and a file that both installed."""
    groups: dict[str, list[Distribution]] = {}
    for one in environment.named(NVIDIA):
        stem, mark, digits = one.name.rpartition("-cu")
        groups.setdefault(stem if mark and digits.isdigit() else one.name, []).append(one)
    return tuple(
        TwinRuntimes(first.label, second.label, installed.overwritten(first, second))
        for first, *others in groups.values()
        for second in others
    )
