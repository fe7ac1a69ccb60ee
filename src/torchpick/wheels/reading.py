"""What was read out of a wheel, an installed distribution or a file: the nouns, pure."""

from __future__ import annotations

import re

from torchpick.model.arch import Arch
from torchpick.model.noun import Noun
from torchpick.wheels.library import Library, in_order, texts, union

# How much was read.
FLAGS, SAMPLE, WHOLE = "flags", "sample", "whole"

_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]{1,64})['\"]", re.MULTILINE)
_CUDA = re.compile(r"^cuda(?:\s*:[^=\n]{1,40})?\s*=\s*['\"](\d{1,3}\.\d{1,3})[.\d]*['\"]", re.MULTILINE)
_HIP = re.compile(r"^hip(?:\s*:[^=\n]{1,40})?\s*=\s*['\"](\d{1,3}\.\d{1,3})[^'\"]{0,40}['\"]", re.MULTILINE)


class TorchFacts(Noun):
    """What PyTorch reports about itself: torch/version.py and the compiled list of architectures."""

    version: str | None = None
    cuda: str | None = None
    hip: str | None = None
    flags: tuple[Arch, ...] = ()
    certain: bool = True


def torch_facts(text: str) -> TorchFacts:
    """Read torch/version.py, which is never run."""
    version, cuda, hip = (each.search(text) for each in (_VERSION, _CUDA, _HIP))
    return TorchFacts(version and version[1], cuda and cuda[1], hip and hip[1])


class Reading(Noun):
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
    def sass(self) -> tuple[Arch, ...]:
        """For torch the compiled flags, which it checks a GPU against; else the union over its libraries."""
        if self.torch is not None and self.torch.flags:
            return in_order(arch for arch in self.torch.flags if arch.kind != "compute")
        return union(library.sass for library in self.libraries)

    @property
    def ptx(self) -> tuple[Arch, ...]:
        if self.torch is not None and self.torch.flags:
            return in_order(arch for arch in self.torch.flags if arch.kind == "compute")
        return union(library.ptx for library in self.libraries)

    @property
    def holds_code(self) -> bool:
        return bool(self.sass or self.ptx) or any(library.holds_code for library in self.libraries)


def differences(reading: Reading) -> tuple[str, ...]:
    """Where the libraries of a torch have other code than its flags say."""
    if reading.torch is None or not reading.torch.flags:
        return ()
    plain = {arch for arch in reading.torch.flags if arch.kind == "sm"}
    said = []
    for library in reading.libraries:
        total = library.code.total
        if not total:
            continue
        name = library.path.rpartition("/")[2]
        for arch in in_order(plain):
            having = sum(each.count for each in library.code.modules if arch in each.sass)
            if having < total:
                said.append(f"{name}: {having} of {total} modules have {arch}, which the flags name")
        if extra := [arch for arch in library.sass if arch not in plain]:
            said.append(f"{name}: also has {' '.join(texts(extra))}, which the flags do not name")
    return tuple(said)
