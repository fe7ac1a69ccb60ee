"""Files read by ranges, wherever they are: few requests, an error where one changes meanwhile; and archives in them."""

from __future__ import annotations

import io
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from torchpick.environment.requirementfiles import located
from torchpick.environment.world import opened
from torchpick.errors import (
    BrokenOffError,
    Expected,
    IntegrityError,
    NetworkError,
    RangesUnsupportedError,
    WheelError,
    WheelLayoutError,
    silent,
)
from torchpick.model.address import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report
    from torchpick.index.client import Client, Reply

CHUNK = 1 << 18
# What is read from the end of a file before anything else: of a wheel, the last part of its directory.
TAIL = 112 << 10
# What is downloaded whole, once, from a server without ranges: every companion's wheel, few of torch.
WHOLE = 64 << 20


class Source(Protocol):
    """A file read by ranges."""

    size: int
    bytes_read: int
    requests: int  # 0 for a file of this computer

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        """These bytes in chunks; what is not taken is not fetched."""
        ...

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """A hint: these ranges will be streamed in this order; those closer than `gap` may come together."""

    def close(self) -> None: ...


class FileSource(Source):
    """A file of this computer."""

    requests = 0

    def __init__(self, path: Path, report: Report = silent) -> None:
        self.path = path
        self.bytes_read = 0
        self._report = report
        try:
            self._file = opened(str(path))
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            hint = "check the path and its permissions"
            raise WheelError(f"cannot read {path}: {error.strerror}", hint=hint) from error

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        end = offset + length
        while offset < end:
            try:
                self._file.seek(offset)  # another reader may have moved it
                chunk = self._file.read(min(CHUNK, end - offset))
            except OSError as error:
                raise WheelError(f"cannot read {self.path}: {error.strerror}", hint="check its disk") from error
            if not chunk:
                text = f"{self.path} ends {end - offset} bytes early"
                raise IntegrityError(text, hint="the file is cut off: download it again")
            offset += len(chunk)
            self.bytes_read += len(chunk)
            self._report(len(chunk))
            yield chunk

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """Nothing is gained by it on a disk."""

    def close(self) -> None:
        self._file.close()


# Asked for beyond what is wanted: a member of an archive is a little longer than its directory tells. And what is
# left of an answer, or lies before what is wanted of it, is taken rather than the connection given up.
_BEYOND, _REST, _SKIPPED = 1 << 10, 1 << 16, 2 << 20
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_HINT = "check the connection and try again"


class RemoteSource(Source):
    """One URL read by ranges."""

    def __init__(self, url: str, client: Client, report: Report = silent, whole: int | None = None) -> None:
        self.name = redacted(url).partition("#")[0]
        self.bytes_read = self.requests = 0
        self._url, self._client, self._report = url, client, report
        self._headers: Mapping[str, str] = {}  # of the first answer: this version of the file
        self._open: Reply | None = None
        self._position = self._end = 0  # of the open answer in the file
        self._spare = b""  # bytes of the open answer that came and were not taken
        self._runs: list[tuple[int, int]] = []
        self._tail = b""
        self.size = self._measure(WHOLE if whole is None else whole)

    # The size comes with the first bytes that are wanted anyway: the last ones.
    def _measure(self, whole: int) -> int:
        reply = self._get(f"bytes=-{TAIL}")
        if reply.status in (416, 501) or (reply.status == 206 and _range_of(reply) is None):
            reply.close()
            reply = self._get("bytes=0-0")  # a server that knows no suffix ranges, or an empty file
        length = reply.headers.get("content-length", "")
        range_ = _range_of(reply) if reply.status == 206 else None
        if reply.status == 200 and length.isdigit() and int(length) <= whole:
            range_ = 0, int(length), int(length)
            if int(length) > TAIL:
                self._report(f"{self.name} is downloaded whole, {length} bytes: its server does not support ranges")
        if range_ is None:
            reply.close()
            if reply.status != 200:
                raise reply.refusal(self.name)
            hint = "download it yourself and inspect the file"
            raise RangesUnsupportedError(f"the server of {self.name} does not support ranges", hint=hint)
        self._headers = reply.headers
        self._open, (self._position, self._end, size) = reply, range_
        if self._end == size and size - self._position <= WHOLE:
            with suppress(BrokenOffError):  # read again when it is wanted, with the patience of every other read
                self._tail = b"".join(self._take(size - self._position))
        self.close()
        return size

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        if offset < 0 or offset + length > self.size:
            raise IntegrityError(f"{self.name} has no bytes at {offset}", hint="the file is damaged")
        end, tail_at = offset + length, self.size - len(self._tail)
        before_tail = min(end, tail_at)
        pauses = iter(self._client.limits.pauses)
        while offset < before_tail:
            try:
                self._reach(offset, before_tail)
                for chunk in self._take(before_tail - offset):
                    offset += len(chunk)
                    pauses = iter(self._client.limits.pauses)
                    yield chunk
            except BrokenOffError:
                self.close()
                if (pause := next(pauses, None)) is None:
                    raise
                self._client.sleep(pause)
        if offset < end:
            yield self._tail[offset - tail_at : end - tail_at]

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        runs: list[tuple[int, int]] = []
        for start, end in ranges:
            if runs and start <= runs[-1][1] + gap:
                runs[-1] = (runs[-1][0], max(runs[-1][1], end))
            else:
                runs.append((start, end))
        self._runs = runs
        self._report(Expected(sum(end - start for start, end in runs)))

    def _reach(self, offset: int, end: int) -> None:
        """Have an answer open that stands at this place."""
        if self._open is not None and self._position <= offset < min(self._end, self._position + _SKIPPED):
            for _ in self._take(offset - self._position):
                pass
            return
        self.close()
        end = min(max(end, *(stop for start, stop in self._runs if start <= offset < stop), 0) + _BEYOND, self.size)
        reply = self._get(f"bytes={offset}-{end - 1}")
        range_ = _range_of(reply) if reply.status == 206 else None
        version = "etag" if "etag" in self._headers else "last-modified"
        is_same = reply.headers.get(version) in (None, self._headers.get(version))
        if is_same and range_ == (offset, end, self.size):
            self._open, self._position, self._end = reply, offset, end
            return
        reply.close()
        if is_same and range_ is not None and range_[2] == self.size:
            raise RangesUnsupportedError(
                f"{self.name}: asked for bytes {offset}-{end - 1}, the server sent {range_[0]}-{range_[1] - 1}",
                hint="its ranges cannot be trusted: download the file and inspect that",
            )
        if reply.status in (200, 206, 412, 416):
            raise IntegrityError(f"{self.name} changed while it was read", hint="run the command again")
        raise reply.refusal(self.name)

    def _take(self, length: int) -> Iterator[bytes]:
        """The next bytes of the open answer; raises BrokenOffError where it ends before."""
        left = length
        while left > 0:
            if not self._spare:
                self._spare = b"" if self._open is None else next(self._open.chunks, b"")
                if not self._spare:
                    raise BrokenOffError(f"{self.name}: the connection was lost", hint=_HINT)
                self.bytes_read += len(self._spare)
                self._report(len(self._spare))
            data, self._spare = self._spare[:left], self._spare[left:]
            left -= len(data)
            self._position += len(data)
            yield data

    def close(self) -> None:
        if self._open is None:
            return
        reply, left = self._open, self._end - self._position - len(self._spare)
        self._open, self._spare = None, b""
        if left <= _REST:
            with suppress(NetworkError):
                for chunk in reply.chunks:
                    self.bytes_read += len(chunk)
                    left -= len(chunk)
                    if left < 0:
                        break
        reply.close()  # what was not taken is not fetched
        if left < 0:
            raise IntegrityError(f"{self.name}: the server sent more than was asked for", hint=_HINT)

    def _get(self, range_: str) -> Reply:
        tag = self._headers.get("etag", "W/")
        self.requests += 1
        reply = self._client.open(self._url, {"range": range_, **({} if tag.startswith("W/") else {"if-range": tag})})
        if reply.headers.get("content-encoding", "identity") != "identity":
            reply.close()
            raise RangesUnsupportedError(
                f"the server of {self.name} compresses what it sends",
                hint="its ranges cannot be used: download the file and inspect that",
            )
        return reply


@contextmanager
def open_source(
    url: str, client: Callable[[], Client], report: Report = silent, whole: int | None = None
) -> Iterator[Source]:
    """The file at an address, which may be one of this computer."""
    is_file = url.startswith("file:")
    source = FileSource(Path(located(url)), report) if is_file else RemoteSource(url, client(), report, whole)
    with closing(source):
        yield source


def _range_of(reply: Reply) -> tuple[int, int, int] | None:
    """Where an answer begins and ends in its file, and the size of that: `bytes 5-9/100` → (5, 10, 100)."""
    match = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
    first, last, size = map(int, match.groups()) if match else (0, 0, 0)
    return (first, last + 1, size) if first <= last < size else None


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
_DOWNLOAD_HINT = "the archive is damaged or not a wheel: download it again"
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
            raise WheelLayoutError(f"has a directory of {size} bytes", hint=_DOWNLOAD_HINT)
        data = self._source.read(self._position, size)
        self._position += size
        return data


class Archive:
    """The members of a zip file; each error names the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._expected = set[int]()  # by their places
        try:
            self._zip = ZipFile(_RangedFile(source))
        except _BROKEN as error:
            raise WheelLayoutError(f"is not a readable zip archive: {error}", hint=_DOWNLOAD_HINT) from error

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
        if member.header_offset not in self._expected:
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
        # Without the extra field of each, whose length is only in its header.
        lengths = ((member, _HEADER + len(member.filename.encode()) + member.compress_size) for member in members)
        ranges = [(member.header_offset, member.header_offset + length) for member, length in lengths]
        self._expected = {start for start, _ in ranges}
        self.source.expect(ranges, gap)

    def _check(self, member: ZipInfo) -> None:
        """Refuse a member that cannot be read within bounds."""
        name = member.filename
        if member.flag_bits & 1:
            raise WheelLayoutError(f"contains {name}, which is encrypted", hint="torchpick reads plain wheels only")
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            text = f"contains {name} compressed by method {member.compress_type}"
            raise WheelLayoutError(text, hint="wheels are stored or deflated")
        if member.header_offset + member.compress_size > self.source.size or member.file_size > _MOST_MEMBER:
            raise WheelLayoutError(f"contains {name} with an impossible size", hint=_DOWNLOAD_HINT)
        if member.file_size > member.compress_size * _MOST_RATIO + _SLACK:
            ratio = member.file_size // max(member.compress_size, 1)
            raise WheelLayoutError(f"contains {name} packed {ratio} to one: a zip bomb", hint=_DOWNLOAD_HINT)

    def check_overlap(self) -> None:
        """Refuse members that share their bytes: the bombs that hide a terabyte in a megabyte are made so."""
        end, previous = 0, ""
        for member in sorted(self.members(), key=lambda member: member.header_offset):
            if member.header_offset < end:
                text = f"contains {member.filename} and {previous} in the same bytes: a zip bomb"
                raise WheelLayoutError(text, hint=_DOWNLOAD_HINT)
            end, previous = member.header_offset + _HEADER + member.compress_size, member.filename


def metadata_of(archive: Archive) -> str | None:
    """The headers of a wheel's METADATA, without the description behind them; None where there is none."""
    for member in archive.members():
        folder, _, name = member.filename.rpartition("/")
        if name == "METADATA" and folder.endswith(".dist-info") and "/" not in folder:
            text = archive.read(member, MOST_METADATA).decode("utf-8", "replace")
            return text.replace("\r\n", "\n").partition("\n\n")[0]
    return None
