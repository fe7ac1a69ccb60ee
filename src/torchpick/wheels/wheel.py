"""Reading a wheel: its compiled flags, a sample of its libraries, or all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from zipfile import ZipInfo

from torchpick.errors import WheelLayoutError
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.ranges import Archive, metadata_of
from torchpick.wheels import fatbin, librarycode
from torchpick.wheels.librarycode import Library
from torchpick.wheels.readings import (
    DEFAULT_WHOLE,
    FLAGS,
    PYTHON_LIBRARIES,
    SAMPLE,
    VERSION_FILE,
    WHOLE,
    Allowance,
    Reading,
    TorchFacts,
    compiled_flags,
    parse_version_file,
)

# A sample may cost so much of the wheel, its directory included.
SAMPLE_SHARE = 0.05
_APART = 64 << 10  # libraries of a sample that lie closer than this come in one request
_MOST_TEXT = 1 << 20
# The libraries beside libtorch_cuda that hold kernels of their own, read where they are no larger than this (packed).
_SMALL = re.compile(r"torch/lib/(lib)?torch_(cuda_linalg|nvshmem)\.(so|dll)")
_MOST_PACKED = 96 << 20


def read_wheel(archive: Archive, file: str, depth: str | None = None, allowance: Allowance | None = None) -> Reading:
    """Read a wheel as deep as asked; by default as deep as is cheap and enough, or as an allowance allows."""
    named = wheelnames.parse(file)
    if depth is None and named is not None and named.project == "torch":
        torch = torch_of(archive)
        if torch and (torch.flags or torch.cuda is None):
            return _reading(archive, file, FLAGS, torch)
    members = archive.members()
    archive.check_overlap()
    wanted = [member for member in members if wheelnames.may_hold_code(member.filename)]
    wanted.sort(key=lambda member: member.header_offset)
    packed = sum(member.compress_size for member in wanted)
    if depth is None:
        is_remote = archive.source.requests > 0
        depth = SAMPLE if is_remote and packed > (allowance.most if allowance else DEFAULT_WHOLE) else WHOLE
    present = {member.filename for member in members}
    torch = torch_of(archive) if depth == WHOLE and not present.isdisjoint(PYTHON_LIBRARIES) else None
    compilers = () if torch is not None else wheelnames.compilers(present)
    metadata = metadata_of(archive)
    needed: set[str] = set()
    allowance = allowance or Allowance(int(archive.source.size * SAMPLE_SHARE))
    libraries = _whole(archive, wanted, needed) if depth == WHOLE else _sample(archive, wanted, needed, allowance)
    telling = tuple(library for library in libraries if library.holds_code or library.notes or not library.complete)
    unread = len(wanted) - len(libraries)
    return _reading(archive, file, depth, torch)._replace(
        libraries=telling,
        compilers=compilers,
        complete=depth == WHOLE and all(library.complete for library in telling),
        notes=(f"{unread} of {len(wanted)} libraries were not read",) if unread else (),
        needed=tuple(sorted(needed)),
        unread=unread,
        metadata=metadata,
    )


def _reading(archive: Archive, file: str, depth: str, torch: TorchFacts | None) -> Reading:
    """What is known without any library; what it cost so far."""
    source = archive.source
    named = wheelnames.parse(file)
    version = torch.version if torch and torch.version else named.version if named else None
    return Reading(
        target=file,
        depth=depth,
        complete=True,
        size=source.size,
        bytes_read=source.bytes_read,
        requests=source.requests,
        name=named.project if named else None,
        version=version,
        file=file,
        torch=torch,
    )


def read_release(archive: Archive, link: ProjectFile) -> Reading:
    """A torch wheel as far as the table needs it: its flags, what it requires, and its small libraries."""
    torch = torch_of(archive)
    if torch is None:
        hint = "it is not a PyTorch wheel that torchpick knows"
        raise WheelLayoutError(f"{link.file} contains no torch/version.py", hint=hint)
    if not torch.flags and (torch.cuda is not None or torch.hip is not None):
        # It counts as a build without GPU code only if it says so.
        hint = "run `torchpick inspect --deep` to read its libraries"
        raise WheelLayoutError(f"{link.file} names no architectures", hint=hint)
    metadata = metadata_of(archive)
    small = [member for member in archive.members() if _SMALL.fullmatch(member.filename) and torch.cuda is not None]
    small = [member for member in small if member.compress_size <= _MOST_PACKED]
    libraries = _whole(archive, sorted(small, key=lambda member: member.header_offset), set())
    with_code = tuple(library for library in libraries if library.holds_code)
    return _reading(archive, link.file, FLAGS, torch)._replace(libraries=with_code, metadata=metadata)


def torch_of(archive: Archive) -> TorchFacts | None:
    """What a torch wheel reports about itself; None if it is not torch."""
    members = archive.find(VERSION_FILE, *PYTHON_LIBRARIES)
    if VERSION_FILE not in members:
        return None
    text = archive.read(members.pop(VERSION_FILE), _MOST_TEXT).decode("utf-8", "replace")
    torch = parse_version_file(text)
    if not members or (torch.cuda is None and torch.hip is None):
        return torch  # a CPU build has no flags: nothing to search for in its library
    library = next(iter(members.values()))
    return torch._replace(flags=compiled_flags(archive.stream(library)) or ())


def _whole(archive: Archive, members: list[ZipInfo], needed: set[str]) -> tuple[Library, ...]:
    archive.expect(members)
    return tuple(_linked(archive, member, needed) for member in members)


def _linked(archive: Archive, member: ZipInfo, needed: set[str]) -> Library:
    """A library read whole; what it links is added to `needed`."""
    with librarycode.unpack(archive.stream(member), member.file_size) as buffer:
        needed.update(fatbin.read_links(buffer).needed)
        return librarycode.read_buffer(buffer, member.filename)


def _sample(archive: Archive, members: list[ZipInfo], needed: set[str], allowed: Allowance) -> tuple[Library, ...]:
    """Small libraries whole, and of the main ones, or the largest, what the rest buys: never the union of all."""
    source = archive.source
    allowance = allowed.most - source.bytes_read
    rest = sorted(members, key=lambda member: member.compress_size)
    small: list[ZipInfo] = []
    while rest and rest[0].compress_size <= (allowance // 2 if len(rest) > 1 else allowance):
        allowance -= rest[0].compress_size + _APART
        small.append(rest.pop(0))
    small.sort(key=lambda member: member.header_offset)
    archive.expect(small, _APART)
    libraries = [_linked(archive, member, needed) for member in small]
    # Nothing more fits whole: the largest is the one that tells most, where no other is known to.
    telling = [member for member in rest if allowed.main and re.fullmatch(allowed.main, member.filename)] or rest[-1:]
    for left, member in zip(range(len(telling), 0, -1), telling, strict=True):
        end = source.bytes_read + (allowed.most - source.bytes_read) // left
        with librarycode.unpack(_until(archive, member, end), member.file_size) as buffer:
            libraries.append(librarycode.read_start(buffer, member.file_size, member.filename))
    return tuple(libraries)


def _until(archive: Archive, member: ZipInfo, most: int) -> Iterator[bytes]:
    """The start of a member, as long as the source has read no more than so many bytes."""
    for chunk in archive.stream(member):
        yield chunk
        if archive.source.bytes_read + (64 << 10) >= most:
            return


def check_is_wheel(file: str) -> None:
    """Refuse, with the reason, a file that is not a wheel by its name."""
    if re.search(r"\.(tar\.(gz|bz2|xz|zst)|tgz)$", file):
        message = f"{file} is source: its GPU code depends on how it is built"
        raise WheelLayoutError(message, hint="build it (`pip wheel`) and inspect the wheel")
