"""What was read of a wheel, of what is installed or of a file, and the user's cache of it: each wheel is read once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from torchpick.environment import distributions, rewrite
from torchpick.environment.distributions import VERSION_FILE, TorchFacts
from torchpick.index import wheelnames
from torchpick.model.arch import Arch
from torchpick.model.build import is_unified
from torchpick.model.fields import noun_of, written
from torchpick.wheels.fatbin import Buffer
from torchpick.wheels.librarycode import (
    CodeContents,
    Library,
    Modules,
    in_order,
    look_into,
    read_library,
    split,
    union,
)

N = TypeVar("N", bound=tuple[Any, ...])
# How much was read.
FLAGS, SAMPLE, WHOLE = "flags", "sample", "whole"

# A wheel from the web is read whole by default up to this many packed bytes of libraries: NCCL's 350 MB are,
# cuDNN's 717 MB are sampled. A torch wheel is read by its flags, which takes about 1 % of it.
DEFAULT_WHOLE = 512 << 20

PYTHON_LIBRARIES = tuple(
    f"torch/lib/{name}" for name in ("libtorch_python.so", "torch_python.dll", "libtorch_python.dylib")
)


_ONE = rb"(?:sm|compute)_\d{2,3}[af]?"
_AMD = rb"gfx[0-9a-f]{3,5}(?::[a-z+-]{1,16}){0,3}"
# Followed by its NUL; what stands before it is any text, where the compiler keeps arrays that have no NUL.
_LIST = re.compile(rb"(%b(?: %b){1,40}|%b(?:[ ;]%b){1,60})\0" % (_ONE, _ONE, _AMD, _AMD))
# A build for one architecture (NVIDIA's Jetson wheels: `sm_87`) looks like any other mention of it, so it counts only
# where it stands alone between two NULs and is the only such text of the library.
_SINGLE = re.compile(rb"(?<=\0)(%b|%b)(?=\0)" % (_ONE, _AMD))
# The longest list there can be; it may lie across two chunks.
_OVERLAP = 1024


def compiled_flags(chunks: Iterable[Buffer]) -> tuple[Arch, ...] | None:
    """The architectures that PyTorch was compiled for, in its own order, from its library.

    `torch.cuda.get_arch_list()` prints a string that the build compiled into libtorch_python (the macro
    CUDA_ARCH_FLAGS, torch/csrc/cuda/Module.cpp). It stands there as plain text, in a library that is mapped or streams
    by, and is read no further than needed.
    """
    singles: set[bytes] = set()
    tail = b""
    for chunk in chunks:
        text = tail + bytes(chunk) if tail else chunk
        if (flags := _flags_in(text, singles)) is not None:
            return _arches_of_flags(flags)
        tail = text[-_OVERLAP:]
    return _arches_of_flags(singles.pop()) if len(singles) == 1 else None


def flags_in(folder: str) -> tuple[Arch, ...] | None:
    """The architectures that the torch in a folder names itself."""
    paths = (os.path.join(folder, name) for name in PYTHON_LIBRARIES)
    flags = (look_into(path, lambda buffer: compiled_flags([buffer])) for path in paths)
    return next((arches for arches in flags if arches is not None), None)


def _flags_in(buffer: Buffer, singles: set[bytes]) -> bytes | None:
    """The list, where it is there; a single architecture is added to the others. Only its words are looked around."""
    for offset in _flag_offsets(buffer):
        # A list starts with one of these words, so nothing before it can belong to it.
        start = max(0, offset - 1)
        window = bytes(buffer[start : offset + _OVERLAP])
        if (match := _LIST.match(window, offset - start)) is not None:
            return match[1]
        if (match := _SINGLE.match(window, offset - start)) is not None:
            singles.add(match[1])
    return None


def _flag_offsets(buffer: Buffer) -> Iterator[int]:
    """Where the words that a list may start with stand, in the file's order."""
    ahead = {word: buffer.find(word) for word in (b"sm_", b"compute_", b"gfx")}
    while ahead := {word: offset for word, offset in ahead.items() if offset >= 0}:
        word = min(ahead, key=ahead.__getitem__)
        yield ahead[word]
        ahead[word] = buffer.find(word, ahead[word] + 1)


def _arches_of_flags(text: bytes) -> tuple[Arch, ...]:
    words = text.decode("ascii").replace(";", " ").split()
    # AMD's feature marks (gfx90a:sramecc+:xnack-) are no part of the name.
    return tuple(dict.fromkeys(Arch.parse(word.partition(":")[0]) for word in words))


class Reading(NamedTuple):
    """Everything that was read of one THING, and what that cost."""

    target: str
    depth: str
    complete: bool
    size: int
    bytes_read: int
    requests: int
    name: str | None = None
    version: str | None = None
    file: str | None = None
    sha256: str | None = None
    torch: TorchFacts | None = None
    libraries: tuple[Library, ...] = ()
    compilers: tuple[str, ...] = ()  # files that compile GPU code at run time
    notes: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()  # what its libraries ask the loader for
    unread: int = 0  # libraries that were not looked into
    metadata: str | None = None  # METADATA of a wheel, as far as its headers go

    @property
    def is_unified(self) -> bool:
        """Whether it is a torch whose discrete code runs on Tegra too."""
        return self.torch is not None and is_unified(self.torch.version, self.torch.cuda)

    @property
    def flags(self) -> tuple[Arch, ...]:
        """What a torch was compiled for, which it checks a GPU against."""
        return () if self.torch is None else self.torch.flags

    @property
    def sass(self) -> tuple[Arch, ...]:
        """For torch the compiled flags; else the union over its libraries."""
        return in_order(split(self.flags)[0]) if self.flags else union(library.sass for library in self.libraries)

    @property
    def ptx(self) -> tuple[Arch, ...]:
        return in_order(split(self.flags)[1]) if self.flags else union(library.ptx for library in self.libraries)

    @property
    def holds_code(self) -> bool:
        return bool(self.sass or self.ptx) or any(library.holds_code for library in self.libraries)


def read_distribution(package: distributions.Distribution, target: str) -> Reading:
    """Read an installed distribution in place; its libraries are mapped, so reading all of them is cheap."""
    folder, files = Path(package.folder), distributions.files(package)
    torch = _torch_of(folder, files)
    paths = filter(wheelnames.may_hold_code, files)
    libraries = [library for path in paths if (library := read_library(str(folder / path), path)) is not None]
    telling = tuple(library for library in libraries if library.holds_code or library.notes)
    return Reading(
        target=target,
        depth=WHOLE,
        complete=all(library.complete for library in telling),
        size=sum(library.size for library in libraries),
        bytes_read=sum(library.size for library in telling),
        requests=0,
        name=package.name,
        version=package.version,
        torch=torch,
        libraries=telling,
        compilers=() if torch is not None else wheelnames.compilers(files),
    )


def _torch_of(folder: Path, files: tuple[str, ...]) -> TorchFacts | None:
    present = {path.replace(os.sep, "/") for path in files}
    if VERSION_FILE not in present or present.isdisjoint(PYTHON_LIBRARIES):
        return None
    return distributions.torch_facts((str(folder),))._replace(flags=flags_in(str(folder)) or ())


# Raised where the readers of wheels find more or other things than before: older readings are then read anew.
_SCHEMA = 6
# The largest of the packages read so far takes 40 KB; so the cache stays below some 100 MB.
_MOST_BYTES = 1 << 20
MOST_FILES = 4096


class Readings:
    """A folder with a file for each reading. A damaged one counts as none."""

    def __init__(self, cache: str) -> None:
        self._records = rewrite.Records(Path(cache, "readings"), _SCHEMA, MOST_FILES, _MOST_BYTES)

    def find(self, url: str, sha256: str | None, depth: str | None, most: int | None = None) -> Reading | None:
        """The reading of this file, at the depth that is asked for, with what it cost then.

        A sample does not answer where by default the whole wheel would be read.
        """
        if sha256 is None:
            return None
        for read_depth in _answering(url, depth):
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                record = self._records.read(f"{sha256}-{read_depth}")
                if record["origin"] == _origin(url):
                    reading = _of_row(record["reading"])
                    whole = most or DEFAULT_WHOLE
                    if depth is not None or read_depth != SAMPLE or reading.size > whole:
                        return reading
        return None

    def keep(self, url: str, reading: Reading) -> None:
        """Remember it, if its content is known by its hash."""
        if reading.sha256 is not None:
            row = {"origin": _origin(url), "reading": written(reading)}
            self._records.write(f"{reading.sha256}-{reading.depth}", row)


def _answering(url: str, depth: str | None) -> tuple[str, ...]:
    """The depths whose readings answer a question for this one; by default a torch is read by its flags."""
    if depth is not None:
        return (depth,)
    wheel = wheelnames.parse(urlsplit(url).path.rpartition("/")[2])
    return (FLAGS, WHOLE, SAMPLE) if wheel is not None and wheel.project == "torch" else (WHOLE, SAMPLE)


def _origin(url: str) -> str:
    """The host, without credentials. The hash is the index's word: one index must not speak for another's files."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _of_row(row: Mapping[str, Any]) -> Reading:
    """A record of ours; one that is damaged raises any of the errors of `find`."""
    torch = row["torch"]
    facts = None if torch is None else _noun(TorchFacts, torch, flags=_arches(torch["flags"]))
    return _noun(Reading, row, torch=facts, libraries=tuple(map(_library, row["libraries"])))


def _library(row: Mapping[str, Any]) -> Library:
    code = row["code"]
    modules = tuple(_noun(Modules, module, **_code(module)) for module in code["modules"])
    return _noun(Library, row, code=_noun(CodeContents, code, modules=modules, **_code(code)))


def _noun(noun: type[N], row: Mapping[str, Any], **others: object) -> N:
    """A noun of a record; TypeError where one of its fields holds something else than it is for."""
    made = noun_of(noun, row, **others)
    for value, kind in zip(made, _hints(noun).values(), strict=True):
        is_many = isinstance(value, tuple) and get_origin(kind) is tuple
        parts, of = (value, get_args(kind)[0]) if is_many else ((value,), kind)
        if not all(isinstance(part, of) for part in parts):
            raise TypeError(noun.__name__)
    return made


_hints = cache(get_type_hints)


def _code(row: Mapping[str, Any]) -> dict[str, tuple[Arch, ...]]:
    return {kind: _arches(row[kind]) for kind in ("sass", "ptx")}


def _arches(names: Iterable[str]) -> tuple[Arch, ...]:
    return tuple(map(Arch.parse, names))
