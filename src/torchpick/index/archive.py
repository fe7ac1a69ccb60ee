"""A wheel as an archive over a file that is read by ranges: few reads, bounded memory, nothing trusted."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from torchpick.errors import IntegrityError, WheelLayoutError
from torchpick.index.ranges import Source

# The largest directory measured: torch 2.15.0 for aarch64, 13,432 entries in 1.3 MB.
MOST_DIRECTORY = 8 << 20
MOST_METADATA = 4 << 20
_MOST_MEMBER = 16 << 30
# Deflate reaches 1032:1 and libraries 5:1; small ones that are mostly zeros 500:1 (libxcb-shape in av).
_MOST_RATIO = 250
_SLACK = 16 << 20
_HEADER = 30  # of a member, before its name
_CHUNK = 1 << 18
_GAP = 1 << 20  # fetching so many bytes for nothing is cheaper than another request
_HINT = "the archive is damaged or not a wheel: download it again"
_BROKEN = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


class _RangedFile(io.RawIOBase):
    """The source as zipfile wants a file."""

    def __init__(self, source: Source) -> None:
        self._source, self._position = source, 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        position = offset + (0, self._position, self._source.size)[whence]
        if position < 0:
            raise OSError("before the beginning")
        self._position = position
        return position

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._source.size - self._position)
        size = left if count < 0 else min(count, left)
        if size > MOST_DIRECTORY:
            raise WheelLayoutError(f"has a directory of {size} bytes", hint=_HINT)
        data = self._source.read(self._position, size)
        self._position += size
        return data


class Archive:
    """The members of a zip file; each error names the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._expected: list[tuple[int, int]] = []
        try:
            self._zip = ZipFile(_RangedFile(source))
        except _BROKEN as error:
            raise WheelLayoutError(f"is not a readable zip archive: {error}", hint=_HINT) from error

    def members(self) -> list[ZipInfo]:
        return self._zip.infolist()

    def find(self, *names: str) -> dict[str, ZipInfo]:
        """The members of these names that exist."""
        return {name: self._zip.NameToInfo[name] for name in names if name in self._zip.NameToInfo}

    def read(self, member: ZipInfo, most: int) -> bytes:
        """A small member, whole and checked; refused where it is larger than `most`."""
        if member.file_size > most:
            raise WheelLayoutError(
                f"contains {member.filename} of {member.file_size} bytes, more than {most}", hint="it may be malicious"
            )
        return b"".join(self.stream(member))

    def stream(self, member: ZipInfo) -> Iterator[bytes]:
        """The member's bytes as they are unpacked; at the end its checksum is proved."""
        self._check(member)
        if not any(start <= member.header_offset < end for start, end in self._expected):
            self.expect([member])
        left = member.file_size
        try:
            with self._zip.open(member) as stream:
                while chunk := stream.read(_CHUNK):
                    left -= len(chunk)
                    yield chunk
        except _BROKEN as error:
            raise IntegrityError(f"{member.filename} is damaged: {error}", hint="download it again") from error
        if left:
            raise IntegrityError(f"{member.filename} is damaged: {left} bytes are missing", hint="download it again")

    def expect(self, members: Iterable[ZipInfo], gap: int = _GAP) -> None:
        """Announce the members to be streamed, in the order of their places; neighbours then come in one request."""
        self._expected = [(member.header_offset, _end(member)) for member in members]
        self.source.expect(self._expected, gap)

    def _check(self, member: ZipInfo) -> None:
        """Refuse a member that cannot be read within bounds."""
        name = member.filename
        if member.flag_bits & 1:
            raise WheelLayoutError(f"contains {name}, which is encrypted", hint="torchpick reads plain wheels only")
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            text = f"contains {name} compressed by method {member.compress_type}"
            raise WheelLayoutError(text, hint="wheels are stored or deflated")
        if member.header_offset + member.compress_size > self.source.size or member.file_size > _MOST_MEMBER:
            raise WheelLayoutError(f"contains {name} with an impossible size", hint=_HINT)
        if member.file_size > member.compress_size * _MOST_RATIO + _SLACK:
            ratio = member.file_size // max(member.compress_size, 1)
            raise WheelLayoutError(f"contains {name} packed {ratio} to one: a zip bomb", hint=_HINT)

    def check_overlap(self) -> None:
        """Refuse members that share their bytes: the bombs that hide a terabyte in a megabyte are made so."""
        end, previous = 0, ""
        for member in sorted(self.members(), key=lambda member: member.header_offset):
            if member.header_offset < end:
                text = f"contains {member.filename} and {previous} in the same bytes: a zip bomb"
                raise WheelLayoutError(text, hint=_HINT)
            end, previous = member.header_offset + _HEADER + member.compress_size, member.filename


def _end(member: ZipInfo) -> int:
    """How far a member reaches, without the extra field, whose length is only in its header."""
    return member.header_offset + _HEADER + len(member.filename.encode()) + member.compress_size


def metadata_of(archive: Archive) -> str | None:
    """The headers of a wheel's METADATA, without the description behind them; None where there is none."""
    for member in archive.members():
        folder, _, name = member.filename.rpartition("/")
        if name == "METADATA" and folder.endswith(".dist-info") and "/" not in folder:
            return headers_of(archive.read(member, MOST_METADATA).decode("utf-8", "replace"))
    return None


def headers_of(metadata: str) -> str:
    """What stands before the description, with the ends of lines as one system has them."""
    return metadata.replace("\r\n", "\n").partition("\n\n")[0]
