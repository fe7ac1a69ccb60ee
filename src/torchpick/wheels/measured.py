"""One torch wheel of an index, read as far as the table needs it: flags, CUDA, the small libraries, the pins."""

from __future__ import annotations

import re
from zipfile import ZipInfo

from torchpick.errors import WheelLayoutError
from torchpick.index import wheelnames
from torchpick.index.listing import Link
from torchpick.model.arch import Arch
from torchpick.model.build import is_unified
from torchpick.model.fields import plain
from torchpick.model.noun import Noun
from torchpick.model.versions import normal
from torchpick.wheels import judging, librarycode
from torchpick.wheels.archive import Archive
from torchpick.wheels.judging import Judge
from torchpick.wheels.librarycode import Library, in_order, texts
from torchpick.wheels.readings import TorchFacts
from torchpick.wheels.wheel import torch_of, whole_metadata

# The libraries beside libtorch_cuda that hold kernels of their own, read where they are no larger than this (packed).
SMALL = re.compile(r"torch/lib/(lib)?torch_(cuda_linalg|nvshmem)\.(so|dll)")
MOST_PACKED = 96 << 20
# `nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system …` and the newer spelling without brackets.
_PIN = re.compile(r"^Requires-Dist: *((?:nvidia-[a-z0-9-]+|triton)) *\(?==([0-9][0-9A-Za-z.]*)\)?", re.MULTILINE)
_MOST_TEXT = 4 << 20


class Measured(Noun):
    """What was read of one wheel. `pins` are the exact libraries it asks for."""

    link: Link
    torch: TorchFacts
    libraries: tuple[Library, ...]
    pins: dict[str, str]
    size: int
    bytes_read: int
    requests: int

    @property
    def sass(self) -> tuple[Arch, ...]:
        return in_order(arch for arch in self.torch.flags if arch.kind != "compute")

    @property
    def ptx(self) -> tuple[Arch, ...]:
        return in_order(arch for arch in self.torch.flags if arch.kind == "compute")

    @property
    def lacks(self) -> dict[str, list[str]]:
        """Library → the architectures that the flags name and that it does not support, or hardly supports."""
        found: dict[str, list[str]] = {}
        for one in self.libraries:
            missing = [arch for arch in self.sass if self._fails(one, arch)]
            if missing:
                found[one.path.rpartition("/")[2]] = texts(missing)
        return found

    def _fails(self, one: Library, arch: Arch) -> bool:
        unified = is_unified(self.torch.version, self.torch.cuda)
        found = judging.of_library(one, Judge(arch, unified=unified))
        return found is not None and found.fails

    def to_json(self) -> dict[str, object]:
        """One line of evidence/torch.jsonl."""
        wheel = self.link.wheel
        return {
            "file": self.link.file,
            "sha256": self.link.sha256,
            "torch": wheel.version.partition("+")[0],
            "version": self.torch.version,
            "platform": wheelnames.platform_of(wheel.platform),
            "tag": wheel.platform,
            "python": f"{wheel.python}-{wheel.abi}",
            "cuda": self.torch.cuda,
            "arches": texts(self.sass),
            "ptx": texts(self.ptx),
            "libraries": {one.path.rpartition("/")[2]: plain(one.code.modules) for one in self.libraries},
            "lacks": self.lacks,
            "pins": self.pins,
            "uploaded": self.link.uploaded,
            "yanked": self.link.yanked is not None,
            "size": self.size,
            "bytes_read": self.bytes_read,
            "requests": self.requests,
        }


def read(archive: Archive, link: Link, *, deep: bool) -> Measured:
    """Read a torch wheel: always its flags; with `deep` its small libraries and its pins too."""
    torch = torch_of(archive)
    if torch is None:
        raise WheelLayoutError(
            f"{link.file} contains no torch/version.py", hint="it is not a PyTorch wheel that torchpick knows"
        )
    if not torch.flags and (torch.cuda is not None or torch.hip is not None):
        # It counts as a build without GPU code only if it says so.
        raise WheelLayoutError(
            f"{link.file} names no architectures", hint="run `torchpick inspect --deep` to read its libraries"
        )
    libraries: list[Library] = []
    pins: dict[str, str] = {}
    if deep:
        for member in _near(archive):
            if member.filename.endswith(".dist-info/METADATA"):
                text = archive.read(member, _MOST_TEXT).decode("utf-8", "replace")
                # The CPU builds of other platforms carry the pins of Linux behind a condition.
                pins = {normal(name): version for name, version in _PIN.findall(text) if torch.cuda}
            elif SMALL.fullmatch(member.filename) and member.compress_size <= MOST_PACKED and torch.cuda is not None:
                with librarycode.unpacked(archive.stream(member), member.file_size) as buffer:
                    libraries.append(librarycode.of_buffer(buffer, member.filename))
    source = archive.source
    held = tuple(one for one in libraries if one.holds_code)
    return Measured(link, torch, held, pins, source.size, source.bytes_read, source.requests)


def metadata(archive: Archive, file: str) -> str:
    """A wheel's METADATA."""
    text = whole_metadata(archive)
    if text is None:
        wheel = wheelnames.parse(file)
        raise WheelLayoutError(f"{wheel.project if wheel else file} has no METADATA", hint="download it again")
    return text


def _near(archive: Archive) -> list[ZipInfo]:
    """The wanted members, in the order of their places."""
    wanted = [
        each
        for each in archive.members()
        if SMALL.fullmatch(each.filename) or re.fullmatch(r"torch-[^/]*\.dist-info/METADATA", each.filename)
    ]
    return sorted(wanted, key=lambda each: each.header_offset)
