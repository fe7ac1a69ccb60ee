"""Shared libraries as files, of ELF and PE: their sections, what a library needs, and the fat binaries in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from mmap import mmap
from struct import Struct
from typing import Any

from torchpick.errors import WheelLayoutError
from torchpick.model.arch import Arch

# The code that a loader registers. The names are nvcc's; PE cuts them to eight characters.
CODE_SECTIONS = (".nv_fatbin", ".nv_fatb")

# What else their headers hold is skipped (`x`).
_ELF_HEADER = Struct("<24xQ10xHHH")  # from byte 16, e_type: e_shoff, then e_shentsize, e_shnum, e_shstrndx
_SECTION64 = Struct("<II16xQQ24x")  # sh_name, sh_type, sh_offset, sh_size
_PE_SECTION = Struct("<8s8xII16x")  # Name, SizeOfRawData, PointerToRawData
_MOST_NAMES = 1 << 20
MOST_DYNAMIC = 1 << 20  # torch's largest has 47 entries of 16 bytes
_NOBITS = 8
MOST_SECTIONS = 65_535
_ELF_HEAD = 64
_PE_HEAD = 1 << 16  # it lies within the first pages


Buffer = bytes | mmap


# Its name, and its offset and size in the file.
Section = tuple[str, int, int]


def library_format(head: bytes) -> str | None:
    """`elf`, `pe`, or None if it is neither."""
    if head[:4] == b"\x7fELF":
        return "elf"
    return "pe" if head[:2] == b"MZ" else None


def _elf_sections(buffer: Buffer) -> tuple[Section, ...] | None:
    """The sections that lie in the file; None without a table of them, or in an ELF that no CUDA library is."""
    size, head = len(buffer), buffer[:_ELF_HEAD]
    if len(head) < _ELF_HEAD or head[4] != 2 or head[5] != 1:  # 32-bit, big-endian
        return None
    start, entry, count, names_at = _ELF_HEADER.unpack_from(head, 16)
    if not start or entry != _SECTION64.size or not names_at < count <= MOST_SECTIONS or start + entry * count > size:
        return None
    rows = [*_SECTION64.iter_unpack(buffer[start : start + entry * count])]
    names_start, names_size = rows[names_at][2:]
    names = bytes(buffer[names_start : names_start + min(names_size, _MOST_NAMES)])
    table = []
    for name_at, kind, offset, length in rows:
        if kind == _NOBITS or offset + length > size or not length:
            continue
        raw = names[name_at : names.find(b"\0", name_at)] if name_at < len(names) else b""
        table.append((raw[:64].decode("ascii", "replace"), offset, length))
    return tuple(table)


def _pe_sections(buffer: Buffer) -> tuple[Section, ...] | None:
    """The sections of a DLL; None where its header is none."""
    size, head = len(buffer), buffer[:_PE_HEAD]
    at = int.from_bytes(head[60:64], "little")
    if at + 24 > len(head) or head[at : at + 4] != b"PE\0\0":
        return None
    count = int.from_bytes(head[at + 6 : at + 8], "little")
    start = at + 24 + int.from_bytes(head[at + 20 : at + 22], "little")
    table = []
    for entry in range(start, start + count * _PE_SECTION.size, _PE_SECTION.size):
        if entry + _PE_SECTION.size > len(head):
            return None
        raw, length, offset = _PE_SECTION.unpack_from(head, entry)
        if not length or offset + length > size:
            continue
        table.append((raw.decode("ascii", "replace"), offset, length))
    return tuple(table)


def read_sections(buffer: Buffer) -> tuple[Section, ...] | None:
    """The sections of a library; None where it has no table of them."""
    kind = library_format(buffer[:4])
    return None if kind is None else _pe_sections(buffer) if kind == "pe" else _elf_sections(buffer)


_DYNAMIC = Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST_NAME = 4096


# The libraries that one needs, and the folders of its rpath and its runpath: only a runpath yields to LD_LIBRARY_PATH
# (ld.so(8)).
Links = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
NO_LINKS: Links = ((), (), ())


def read_links(buffer: Buffer) -> Links:
    """Read an ELF library's dynamic section; nothing if it is not such a library."""
    if bytes(buffer[:4]) != b"\x7fELF":
        return NO_LINKS
    named = {name: (offset, size) for name, offset, size in read_sections(buffer) or ()}
    dynamic, names = named.get(".dynamic"), named.get(".dynstr")
    if dynamic is None or names is None:
        return NO_LINKS
    texts: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    names_at, names_size = names
    size = min(dynamic[1], MOST_DYNAMIC) // _DYNAMIC.size * _DYNAMIC.size
    for tag, value in _DYNAMIC.iter_unpack(bytes(buffer[dynamic[0] : dynamic[0] + size])):
        if tag == 0:
            break
        if tag in texts and value < names_size:
            start = names_at + value
            raw = bytes(buffer[start : min(start + _MOST_NAME, names_at + names_size)])
            if name := raw.partition(b"\0")[0].decode("utf-8", "replace"):
                texts[tag].append(name)
    rpath, runpath = (tuple(filter(None, ":".join(texts[tag]).split(":"))) for tag in (_RPATH, _RUNPATH))
    return tuple(texts[_NEEDED]), rpath, runpath


MAGIC = b"\x50\xed\x55\xba"
# A cubin outside any container: a 64-bit little-endian ELF of CUDA's own ABI, 0x33 up to CUDA 12, 0x41 after.
_ELF64 = b"\x7fELF\x02\x01\x01"
CUBIN_MAGICS = (_ELF64 + b"\x33", _ELF64 + b"\x41")

PTX, ELF, GROUP = 1, 2, 0x100
_ARCH_SPECIFIC, _FAMILY_SPECIFIC = 0x100000, 0x200000
_SPECIFIC = _ARCH_SPECIFIC | _FAMILY_SPECIFIC
_EM_CUDA = 190

# Kind, header size, payload size, offset of the options, code version, SM number, flags, decompressed size; what nobody
# here asks for is passed over.
_ENTRY = Struct("<H2xIQ4xI4sI8xQ8xQ")
_VERSION = Struct("<HH")  # minor, major
# The container's magic, version and header size in one; bytes of entries that follow; the first of them.
_CONTAINER = Struct("<8sQ" + _ENTRY.format[1:])
_BEFORE = _CONTAINER.size - _ENTRY.size
_HEAD = MAGIC + b"\x01\0\x10\0"
_GROUP_TABLE = Struct("<II")  # entries, bytes of the table, these eight included
_OPTIONS = Struct("<II")  # offset of the text, its length
_PADDING = 32  # containers begin at multiples of 32 or 8, with zeros between them

# Bounds: the fullest library measured holds 24,453 containers; the fullest container 12 entries.
MOST_CONTAINERS = 1_000_000
MOST_ENTRIES = 65_536
_MOST_HEADER = 1 << 20


# An image without a kernel, which nvcc makes of every source that has none. Machine code of that kind has 872 to 1464
# bytes (up to sm_89) or 1112 to 2256 (from sm_90), the smallest kernel 2856 and 3568; PTX 201 against 256.
_EMPTY_OLD, _EMPTY_NEW, _EMPTY_PTX = 1600, 2400, 224
_LARGE = 2401  # no empty image has so many bytes; what is beyond makes no difference


# The images of one module, of which the driver loads one: the kind, the architecture, the ISA version of PTX or the ABI
# version of machine code, and whether it has no kernel.
Images = tuple[tuple[int, Arch, tuple[int, int], bool], ...]


def scan(buffer: Buffer, start: int = 0, end: int | None = None) -> Iterator[tuple[Images, bool]]:
    """Every container of a part of the buffer, and whether it ends in nonsense; chance hits of its magic are no matter.

    Of a memory map it touches only the pages of headers.
    """
    end = len(buffer) if end is None else min(end, len(buffer))
    offset, count = start, 0
    while True:
        # Most lie one behind another, at multiples of 32.
        step = _container(buffer, offset + -offset % _PADDING, end)
        if step is None:
            offset = buffer.find(MAGIC, offset, end)
            if offset < 0:
                return
            step = _container(buffer, offset, end)
        if step is None:
            offset += 1
            continue
        container, offset = step
        count += 1
        if count > MOST_CONTAINERS:
            message = f"contains more than {MOST_CONTAINERS} code containers"
            raise WheelLayoutError(message, hint="the file may be damaged or malicious")
        yield container


def _container(buffer: Buffer, start: int, limit: int) -> tuple[tuple[Images, bool], int] | None:
    """The container there, and the place behind what of it could be read; None where there is none."""
    if start + _CONTAINER.size > limit:
        return None
    head, size, *fields = _CONTAINER.unpack_from(buffer, start)
    end = start + _BEFORE + size
    if head != _HEAD or end > limit:
        return None
    offset = start + _BEFORE
    first = _entry(buffer, offset, size, fields)
    if first is None:
        return None
    length, images = first
    offset += length
    if offset == end and images is not None:  # most hold one image
        return (images, False), offset
    entries, broken = [*(images or ())], images is None
    while offset < end:
        step = None
        if offset + _ENTRY.size <= limit and len(entries) <= MOST_ENTRIES:
            step = _entry(buffer, offset, end - offset, _ENTRY.unpack_from(buffer, offset))
        if step is None:
            broken = True
            break
        length, images = step
        entries += images or ()
        broken |= images is None
        offset += length
    return (tuple(entries), broken), offset


def _entry(buffer: Buffer, offset: int, room: int, fields: Sequence[Any]) -> tuple[int, Images | None] | None:
    """The whole length of the entry there, and its images, None of a group without them; None where it is no entry."""
    kind, header, payload, _, version, number, flags, size = fields
    length = header + payload
    if not _ENTRY.size <= header <= _MOST_HEADER or header % 8 or length > room:
        return None
    if kind == GROUP:
        return None if number else (length, _group(buffer[offset : offset + header]))
    images = _images(kind, number, flags & _SPECIFIC, version, min(size or payload, _LARGE))
    return None if images is None else (length, images)


# A library has thousands of images and few that differ here.
@lru_cache(1024)
def _images(kind: int, number: int, specific: int, version: bytes, size: int) -> Images | None:
    """The image of an entry; None where its header is none. Sizes above that of every empty one may be given as one."""
    arch = _arch(kind, number, specific)
    if arch is None or not 0 < kind < GROUP:
        return None
    minor, major = _VERSION.unpack(version)
    return ((kind, arch, (major, minor), _empty(kind, arch, size)),)


def _arch(kind: int, number: int, flags: int) -> Arch | None:
    """37 → sm_37, 120 with the family flag → sm_120f; None if it is not an SM number."""
    if not 20 <= number <= 999:
        return None
    suffix = "a" if flags & _ARCH_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    return Arch("compute" if kind == PTX else "sm", number // 10, number % 10, suffix)


def _empty(kind: int, arch: Arch, size: int) -> bool:
    if kind == PTX:
        return size <= _EMPTY_PTX
    return kind == ELF and size <= (_EMPTY_NEW if arch.major >= 9 else _EMPTY_OLD)


def _group(header: bytes) -> Images | None:
    """The images of a group, from the table that follows its header."""
    offset = _ENTRY.size + _GROUP_TABLE.size
    if len(header) < offset:
        return None
    count, table = _GROUP_TABLE.unpack_from(header, _ENTRY.size)
    end = _ENTRY.size + table
    if end > len(header):
        return None
    entries: list[tuple[int, Arch, tuple[int, int], bool]] = []
    for _ in range(count):
        if offset + _ENTRY.size > end:
            return None
        kind, _, size, options, version, number, flags, _ = _ENTRY.unpack_from(header, offset)
        offset += _ENTRY.size
        if options:
            if offset + _OPTIONS.size > end:
                return None
            length = _OPTIONS.unpack_from(header, offset)[1]
            offset += _OPTIONS.size + (length + 8) // 8 * 8  # the text and its NUL, padded to 8
        images = _images(kind, number, flags & _SPECIFIC, version, min(size, _LARGE))
        if images is None:
            return None
        entries += images
    return tuple(entries)


def cubin_arch(head: bytes) -> Arch | None:
    """What a bare cubin was compiled for, from its ELF header; the `f` of a family target is not in it."""
    if len(head) < 64 or head[:8] not in CUBIN_MAGICS or int.from_bytes(head[18:20], "little") != _EM_CUDA:
        return None
    flags = int.from_bytes(head[48:52], "little")
    if head[7] == 0x33:
        number, specific = flags & 0xFF, bool(flags & 0x800)
    else:  # the a of CUDA 13.5 stands in a section (.nv.compat) and not here
        number, specific = flags >> 8 & 0xFF, bool(flags & 0x8)
    return _arch(ELF, number, _ARCH_SPECIFIC if specific else 0)
