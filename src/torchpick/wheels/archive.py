"""A wheel as an archive over a file that is read by ranges: few reads, bounded memory, nothing trusted."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from torchpick.errors import IntegrityError, WheelLayoutError
from torchpick.index.ranges import TAIL, Source
from torchpick.wheels import zipdir
from torchpick.wheels.zipdir import Member

# The first entries of a torch wheel name its version file (6 KB from the directory's start in 2.15.0), the last ones
# its libraries (97 KB from the end): two small reads instead of a directory of 1.2 MB.
HEAD = 48 << 10
_GAP = 1 << 20  # fetching so many bytes for nothing is cheaper than another request
_OUT = 1 << 20  # the most that one step of decompression may give


class Archive:
    """The members of a zip file; each error names the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._tail_at = max(0, source.size - TAIL)
        self._tail = source.read(self._tail_at, source.size - self._tail_at)
        where = zipdir.locate(self._tail, source.size)
        for _ in range(3):
            if not isinstance(where, int):
                break
            self._reach(source.size - where)
            where = zipdir.locate(self._tail, source.size)
        if isinstance(where, int):
            raise WheelLayoutError("is not a readable zip archive", hint="download it again")
        self.directory = where
        self._head = b""
        self._members: list[Member] | None = None

    def _reach(self, offset: int) -> None:
        """Have the tail begin here, or before."""
        if offset < self._tail_at:
            self._tail = self.source.read(offset, self._tail_at - offset) + self._tail
            self._tail_at = offset

    def members(self) -> list[Member]:
        """Every member; reads what is missing of the directory in one go."""
        if self._members is None:
            start = self.directory.offset
            known = start + len(self._head)
            gap = self.source.read(known, self._tail_at - known) if known < self._tail_at else b""
            data = (self._head + gap)[: max(0, self._tail_at - start)] + self._tail_part()
            found, stop = zipdir.entries(data, self.directory.shift)
            if stop != len(data) or len(found) != self.directory.entries:
                raise WheelLayoutError(
                    f"has {len(found)} entries instead of {self.directory.entries}", hint="download it again"
                )
            self._members = found
        return self._members

    def _tail_part(self) -> bytes:
        """What the tail holds of the directory."""
        begin = max(self.directory.offset, self._tail_at) - self._tail_at
        return self._tail[begin : self.directory.offset + self.directory.size - self._tail_at]

    def find(self, *names: str) -> dict[str, Member]:
        """The members of these names that exist, reading no more of the directory than it takes."""
        wanted = set(names)
        found: dict[str, Member] = {}

        def take(members: Iterable[Member]) -> bool:
            found.update((member.name, member) for member in members if member.name in wanted)
            return len(found) == len(wanted)

        if self._members is None and self.directory.size > len(self._tail_part()) + HEAD:
            if take(zipdir.last_entries(self._tail_part(), self.directory.shift)):
                return found
            if not self._head:
                self._head = self.source.read(self.directory.offset, HEAD)
            if take(zipdir.entries(self._head, self.directory.shift)[0]):
                return found
        take(self.members())
        return found

    def read(self, member: Member, most: int) -> bytes:
        """A small member, whole and checked; refused where it is larger than `most`."""
        if member.size > most:
            raise WheelLayoutError(
                f"contains {member.name} of {member.size} bytes, more than {most}", hint="it may be malicious"
            )
        return b"".join(self.stream(member))

    def stream(self, member: Member) -> Iterator[bytes]:
        """The member's bytes as they are unpacked; at the end its size and checksum are proved."""
        zipdir.check(member, self.source.size)
        return _unpacked(member, self._packed(member))

    def _packed(self, member: Member) -> Iterator[bytes]:
        """The member's bytes as they are in the archive; its header comes with them, in one read."""
        reach = min(_reach(member), self.source.size - member.offset)
        chunks = self.source.stream(member.offset, reach)
        head = b""
        start = None
        left = member.compressed
        for chunk in chunks:
            data = chunk
            if start is None:
                head += chunk
                if len(head) < zipdir.LOCAL_SIZE:
                    continue
                start = zipdir.data_offset(head, member) - member.offset
                data = head
            if start:
                skip = min(start, len(data))
                start -= skip
                data = data[skip:]
            data = data[:left]
            left -= len(data)
            if data:
                yield data
        if left and start is not None:
            # The header has an extra field, whose length is only there: the rest follows right behind.
            yield from self.source.stream(member.offset + reach, left)

    def expect(self, members: Iterable[Member], gap: int = _GAP) -> None:
        """Announce the members to be streamed, in the order of their places; neighbours then come in one request."""
        self.source.expect([(each.offset, each.offset + _reach(each)) for each in members], gap)


def _reach(member: Member) -> int:
    """How far a member reaches from its header, without the extra field, whose length is only in the header."""
    return zipdir.LOCAL_SIZE + len(member.name.encode()) + member.compressed


def _unpacked(member: Member, packed: Iterator[bytes]) -> Iterator[bytes]:
    crc = size = 0
    for chunk in packed if member.method == zipdir.STORED else _inflated(member, packed):
        size += len(chunk)
        if size > member.size:
            raise IntegrityError(
                f"{member.name} unpacks to more than its {member.size} bytes", hint="download it again"
            )
        crc = zlib.crc32(chunk, crc)
        yield chunk
    if size != member.size or crc != member.crc:
        raise IntegrityError(f"{member.name} is damaged: its checksum does not match", hint="download it again")


def _inflated(member: Member, packed: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-15)
    try:
        for chunk in packed:
            data = chunk
            while data and not inflater.eof:
                if out := inflater.decompress(data, _OUT):
                    yield out
                data = inflater.unconsumed_tail
        while not inflater.eof and (out := inflater.decompress(inflater.unconsumed_tail, _OUT)):
            yield out
    except zlib.error as error:
        raise IntegrityError(f"{member.name} is damaged: {error}", hint="download it again") from error
