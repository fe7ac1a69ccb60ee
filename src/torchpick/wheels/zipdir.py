"""The directory of a zip archive: where it lies, and its entries. Pure: bytes in, entries out.

The numbers are those of the format's specification (PKWARE's APPNOTE.TXT, 4.3.6 to 4.3.16 and 4.5.3).
"""

from __future__ import annotations

from struct import Struct

from torchpick.errors import WheelLayoutError
from torchpick.model.noun import Noun

_END = Struct("<4sHHHHIIH")
_END64_LOCATOR = Struct("<4sIQI")
_END64 = Struct("<4sQHHIIQQQQ")
_ENTRY = Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = Struct("<4sHHHHHIIIHH")
END_MAGIC, ENTRY_MAGIC, LOCAL_MAGIC = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
LOCAL_SIZE = _LOCAL.size

STORED, DEFLATED = 0, 8
# Bounds. The largest directory measured: torch 2.15.0 for aarch64, 13,432 entries in 1.3 MB.
MOST_ENTRIES = 200_000
MOST_DIRECTORY = 16 << 20
MOST_MEMBER = 16 << 30
# Deflate reaches 1032:1 and libraries 5:1, debug sections of zeros aside.
MOST_RATIO = 250
_SLACK = 1 << 20
# The end record is 22 bytes and a comment of at most 65,535.
END_REACH = _END.size + 0xFFFF
_HINT = "the archive is damaged or not a wheel: download it again"


class Directory(Noun):
    """Where the directory is and how much it says it holds; `shift` bytes were put before the archive."""

    offset: int
    size: int
    entries: int
    shift: int


class Member(Noun):
    name: str
    offset: int  # of its local header
    method: int
    compressed: int
    size: int
    crc: int
    encrypted: bool


def locate(tail: bytes, size: int) -> Directory | int:
    """The directory, from the last bytes of a file of this size; or from how far back more bytes are needed."""
    place = _end_record(tail)
    if place < 0:
        if len(tail) < min(size, END_REACH):
            return min(size, END_REACH)
        raise WheelLayoutError("is not a zip archive: it has no end record", hint=_HINT)
    _, disk, start_disk, here, total, length, offset, _ = _END.unpack_from(tail, place)
    end = size - len(tail) + place
    if 0xFFFF in (here, total) or 0xFFFFFFFF in (length, offset):
        wide = _zip64(tail, place, size)
        if isinstance(wide, int):
            return wide
        if wide is not None:
            length, offset, total, end = wide
            disk = start_disk = 0
    if disk or start_disk:
        raise WheelLayoutError("is one part of a split archive", hint=_HINT)
    if total > MOST_ENTRIES or length > MOST_DIRECTORY or length < total * _ENTRY.size:
        raise WheelLayoutError(f"has an invalid directory: {total} entries in {length} bytes", hint=_HINT)
    shift = end - length - offset
    if shift < 0:
        raise WheelLayoutError("has a directory outside the file", hint=_HINT)
    return Directory(end - length, length, total, shift)


def _end_record(tail: bytes) -> int:
    """Where the end record is: the one whose comment ends with the file, for a comment may hold the magic too."""
    place = last = tail.rfind(END_MAGIC, 0, max(0, len(tail) - _END.size + len(END_MAGIC)))
    while place >= 0:
        if place + _END.size + int.from_bytes(tail[place + 20 : place + 22], "little") == len(tail):
            return place
        place = tail.rfind(END_MAGIC, 0, place + len(END_MAGIC) - 1)
    return last


def _zip64(tail: bytes, place: int, size: int) -> tuple[int, int, int, int] | int | None:
    """Length, offset and entries from the zip64 record and where that stands; an int asks for more of the tail."""
    at = place - _END64_LOCATOR.size
    if at < 0:
        return min(size, len(tail) + _END64_LOCATOR.size + _END64.size) if len(tail) < size else None
    magic, _, record, _ = _END64_LOCATOR.unpack_from(tail, at)
    if magic != b"PK\x06\x07":
        return None
    first = size - len(tail)
    if record + _END64.size > size:
        raise WheelLayoutError("has a zip64 record outside the file", hint=_HINT)
    if record < first:
        if size - record > MOST_DIRECTORY:
            raise WheelLayoutError("has a zip64 record far from its end", hint=_HINT)
        return int(size - record)
    fields = _END64.unpack_from(tail, record - first)
    if fields[0] != b"PK\x06\x06":
        raise WheelLayoutError("has a damaged zip64 record", hint=_HINT)
    return int(fields[8]), int(fields[9]), int(fields[7]), int(record)


def entries(data: bytes, shift: int, *, start: int = 0) -> tuple[list[Member], int]:
    """The entries that are whole in the data, and where the first that is not begins."""
    found = []
    place = start
    while place + _ENTRY.size <= len(data):
        fields = _ENTRY.unpack_from(data, place)
        if fields[0] != ENTRY_MAGIC:
            raise WheelLayoutError("has a damaged directory", hint=_HINT)
        name_size, extra_size, comment_size = fields[10:13]
        end = place + _ENTRY.size + name_size + extra_size + comment_size
        if end > len(data):
            break
        found.append(_member(fields, data[place + _ENTRY.size : end - comment_size], name_size, shift))
        place = end
    return found, place


def last_entries(data: bytes, shift: int) -> list[Member]:
    """The entries in the last part of a directory, cut anywhere: the first place from which they meet its end."""
    place = data.find(ENTRY_MAGIC)
    for _ in range(64):  # a name that holds the magic is rarer than one in 64
        if place < 0:
            return []
        try:
            found, stop = entries(data, shift, start=place)
            if stop == len(data):
                return found
        except WheelLayoutError:
            pass  # the magic stands in a name
        place = data.find(ENTRY_MAGIC, place + 1)
    return []


def _member(fields: tuple[bytes | int, ...], text: bytes, name_size: int, shift: int) -> Member:
    flags, method, crc, compressed, size, offset = (
        int(fields[3]),
        int(fields[4]),
        int(fields[7]),
        int(fields[8]),
        int(fields[9]),
        int(fields[16]),
    )
    size, compressed, offset = _wide(text[name_size:], size, compressed, offset)
    raw = text[:name_size]
    name = raw.decode("utf-8", "replace") if flags & 0x800 else raw.decode("cp437", "replace")
    return Member(name, offset + shift, method, compressed, size, crc, bool(flags & 1))


def _wide(extra: bytes, *narrow: int) -> tuple[int, int, int]:
    """Size, compressed size and offset; those that did not fit 32 bits stand in the zip64 field, in this order."""
    values = list(narrow)
    place = 0
    while place + 4 <= len(extra) and 0xFFFFFFFF in values:
        kind, length = int.from_bytes(extra[place : place + 2], "little"), extra[place + 2] | extra[place + 3] << 8
        if kind == 1:
            field = extra[place + 4 : place + 4 + length]
            for index, value in enumerate(values):
                if value == 0xFFFFFFFF and len(field) >= 8:
                    values[index], field = int.from_bytes(field[:8], "little"), field[8:]
            break
        place += 4 + length
    size, compressed, offset = values
    return size, compressed, offset


def check(member: Member, archive_size: int) -> None:
    """Refuse a member that cannot be read within bounds."""
    if member.encrypted:
        raise WheelLayoutError(f"contains {member.name}, which is encrypted", hint="torchpick reads plain wheels only")
    if member.method not in (STORED, DEFLATED):
        raise WheelLayoutError(
            f"contains {member.name} compressed by method {member.method}", hint="wheels are stored or deflated"
        )
    if member.offset + member.compressed > archive_size or member.size > MOST_MEMBER:
        raise WheelLayoutError(f"contains {member.name} with an impossible size", hint=_HINT)
    if member.method == STORED and member.size != member.compressed:
        raise WheelLayoutError(f"contains {member.name} with two sizes", hint=_HINT)
    if member.size > member.compressed * MOST_RATIO + _SLACK:
        ratio = member.size // max(member.compressed, 1)
        raise WheelLayoutError(f"contains {member.name} packed {ratio} to one: a zip bomb", hint=_HINT)


def data_offset(header: bytes, member: Member) -> int:
    """Where the member's data begins, from the local header; checked against the directory."""
    if len(header) < _LOCAL.size or header[:4] != LOCAL_MAGIC:
        raise WheelLayoutError(f"has no header where {member.name} should be", hint=_HINT)
    fields = _LOCAL.unpack_from(header)
    if fields[3] != member.method:
        raise WheelLayoutError(f"contradicts itself about {member.name}", hint=_HINT)
    return member.offset + _LOCAL.size + int(fields[9]) + int(fields[10])


def check_overlap(members: list[Member]) -> None:
    """Refuse members that share their bytes: the bombs that hide a terabyte in a megabyte are made so."""
    end, previous = 0, ""
    for member in sorted(members, key=lambda each: each.offset):
        if member.offset < end:
            raise WheelLayoutError(f"contains {member.name} and {previous} in the same bytes: a zip bomb", hint=_HINT)
        end, previous = member.offset + _LOCAL.size + member.compressed, member.name
