"""One library: the GPU code it holds, module by module, and where that code lies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from mmap import ACCESS_READ, mmap
from typing import NamedTuple, TypeVar

from torchpick.environment import world
from torchpick.errors import WheelError, WheelLayoutError
from torchpick.model.arch import Arch
from torchpick.wheels import fatbin
from torchpick.wheels.fatbin import Buffer

# The most different sets of architectures one library may hold; the richest measured has 41.
MOST_SETS = 4096
# Files that are GPU code and nothing else are small: the largest cubin of flashinfer-cubin has 3 MB.
_MOST_LOOSE = 64 << 20


# The ISA of PTX and the CUDA that brought it (release notes of the PTX ISA reference). From 9.0 on the numbers run in
# step with CUDA 13's.
_ISA = {
    **{(6, minor + 3): f"10.{minor}" for minor in range(3)},
    **{(7, minor): f"11.{minor}" for minor in range(9)},
    **{(8, minor): f"12.{minor}" for minor in range(6)},
    (8, 6): "12.7",
    (8, 7): "12.8",
    (8, 8): "12.9",
    **{(9, minor): f"13.{minor}" for minor in range(10)},
}


class Modules(NamedTuple):
    """So many modules alike; the driver loads one image of each. Images without a kernel are not counted in."""

    sass: tuple[Arch, ...]
    ptx: tuple[Arch, ...]
    count: int  # type: ignore[assignment]  # nobody calls tuple.count on it


class CodeContents(NamedTuple):
    """The code of one place: everything named in it, and its modules; `empty` of them have no kernel at all."""

    sass: tuple[Arch, ...] = ()
    ptx: tuple[Arch, ...] = ()
    modules: tuple[Modules, ...] = ()
    empty: int = 0

    @property
    def total(self) -> int:
        """The modules that have a kernel."""
        return sum(module.count for module in self.modules)


class Library(NamedTuple):
    """What a loader registers of one file. `complete` is false where only a part of it was read or could be read."""

    path: str
    size: int
    code: CodeContents = CodeContents()
    ptx_cuda: str | None = None  # the CUDA that the driver must support to compile its newest PTX
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def sass(self) -> tuple[Arch, ...]:
        return self.code.sass

    @property
    def ptx(self) -> tuple[Arch, ...]:
        return self.code.ptx

    @property
    def holds_code(self) -> bool:
        return bool(self.sass or self.ptx)

    @property
    def generations(self) -> int | None:
        """How many its machine code is for; None where PTX makes it run on later ones."""
        return None if self.ptx else len({arch.major for arch in self.sass})


def in_order(arches: Iterable[Arch]) -> tuple[Arch, ...]:
    """By number, plain before its `a` and `f`."""
    return tuple(sorted(set(arches), key=lambda arch: (arch.kind, arch.major, arch.minor, arch.suffix)))


def union(sets: Iterable[tuple[Arch, ...]]) -> tuple[Arch, ...]:
    return in_order(arch for arches in sets for arch in arches)


def _library(
    path: str, size: int, hits: Iterable[tuple[fatbin.Images, bool]], *, complete: bool = True, note: str = ""
) -> Library:
    """What all the containers come to, counted in memory that does not grow with the file.

    Those alike are counted and looked at once: a library has thousands of few kinds, one kind after another.
    """
    alike: Counter[fatbin.Images] = Counter()
    broken = 0
    for (entries, is_broken), run in groupby(hits):
        count = sum(1 for _ in run)
        alike[entries] += count
        broken += count if is_broken else 0
        if len(alike) > MOST_SETS:
            message = f"contains more than {MOST_SETS} different sets of architectures"
            raise WheelLayoutError(message, hint="the file may be damaged or malicious")
    notes: tuple[str, ...] = (note,) if note else ()
    if broken:
        notes += (f"{broken} code containers end in invalid bytes",)
    versions = (version for entries in alike for kind, _, version, _ in entries if kind == fatbin.PTX)
    cuda = _ISA.get(max(versions, default=(0, 0)))
    return Library(path, size, _contents(alike), cuda, complete and not broken, notes)


def _contents(alike: Counter[fatbin.Images]) -> CodeContents:
    sets: Counter[tuple[Arch, ...]] = Counter()
    named: set[Arch] = set()
    empty = 0
    for entries, count in alike.items():
        images = [(arch, is_empty) for kind, arch, _, is_empty in entries if kind in (fatbin.ELF, fatbin.PTX)]
        named.update(arch for arch, _ in images)
        if with_kernels := in_order(arch for arch, is_empty in images if not is_empty):
            sets[with_kernels] += count
        elif images:
            empty += count
    modules = [Modules(*split(arches), count) for arches, count in sets.items()]
    in_rank = sorted(modules, key=lambda module: (-module.count, module))
    return CodeContents(*split(in_order(named)), tuple(in_rank), empty)


def split(arches: tuple[Arch, ...]) -> tuple[tuple[Arch, ...], tuple[Arch, ...]]:
    return tuple(a for a in arches if a.kind != "compute"), tuple(a for a in arches if a.kind == "compute")


_AMD_SECTIONS = (".hip_fatbin", ".hip_fat")  # PE cuts it to eight characters
_AMD = "contains AMD GPU code (.hip_fatbin), which is not read"


def read_buffer(buffer: Buffer, path: str) -> Library:
    """Read a library; of a memory map only the headers are touched."""
    size = len(buffer)
    if (arch := fatbin.cubin_arch(buffer[:64])) is not None:
        return Library(path, size, CodeContents((arch,), (), (Modules((arch,), (), 1),)))
    if buffer[:4] == fatbin.MAGIC and size <= _MOST_LOOSE:  # a container by itself
        return _library(path, size, fatbin.scan(buffer))
    table = fatbin.read_sections(buffer) or ()
    note = _AMD if any(name in _AMD_SECTIONS for name, *_ in table) else ""
    return _library(path, size, _registered(buffer, table), note=note)


def _registered(buffer: Buffer, table: Iterable[fatbin.Section]) -> Iterator[tuple[fatbin.Images, bool]]:
    """Sections that overlap are read once: hostile tables name the same bytes a thousand times."""
    end = 0
    for name, offset, size in sorted(table, key=lambda section: section[1]):
        if name in fatbin.CODE_SECTIONS:
            start, end = max(offset, end), max(offset + size, end)
            yield from fatbin.scan(buffer, start, end)


def read_start(buffer: Buffer, size: int, path: str) -> Library:
    """The beginning of a library, in which its sections are not known."""
    # Its last container is cut by its end.
    hits = (hit for hit in fatbin.scan(buffer) if not hit[1])
    return _library(path, size, hits, complete=False)


T = TypeVar("T")
# Far above what a wheel holds, whose archive mostly ends at 4 GiB.
_MOST_LIBRARY = 16 << 30


def read_library(path: str, shown: str) -> Library | None:
    """A library file; None if it is gone, empty or not a regular file."""
    return look_into(path, lambda buffer: read_buffer(buffer, shown))


def look_into(path: str, look: Callable[[mmap], T]) -> T | None:
    """What a look at the file finds; None if it is gone, empty or not a regular file."""
    try:
        with world.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                return None
            if size > _MOST_LIBRARY:  # a hole of a terabyte is read for hours
                raise WheelError(
                    f"{path} is larger than {_MOST_LIBRARY >> 30} GiB", hint="no library is: check the file"
                )
            with mmap(file.fileno(), 0, access=ACCESS_READ) as buffer:
                return look(buffer)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise WheelError(f"cannot read {path}: {error}", hint="check its permissions") from error
