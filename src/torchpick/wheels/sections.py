"""Shared libraries as files: the sections of ELF and PE, which of them may hold GPU code, and what a library needs."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import mmap
from struct import Struct

from torchpick.model.noun import Noun

# What a section is to us. The names are nvcc's; PE cuts them to eight characters.
EXECUTABLE, RELOCATABLE, DATA, OTHER = "executable", "relocatable", "data", "other"
_ROLES = {
    ".nv_fatbin": EXECUTABLE,
    ".nv_fatb": EXECUTABLE,
    "__nv_relfatbin": RELOCATABLE,
    "__nv_rel": RELOCATABLE,
}
# Sections of the compiler and the linker: no program keeps data there, and they are large.
_NEVER = (".eh_frame", ".gcc_except_table", ".debug", ".comment", ".dynstr", ".pdata", ".xdata", ".reloc", ".rsrc")

_ELF64 = Struct("<HHIQQQIHHHHHH")  # from byte 16: e_type … e_shstrndx
_SECTION64 = Struct("<IIQQQQIIQQ")
_PE_SECTION = Struct("<8sIIIIIIHHI")
_PHOFF, _PHENT, _PROGRAM = Struct("<Q"), Struct("<HH"), Struct("<IIQQQQQQ")
_DYNAMIC = 2  # a program header's kind
MOST_DYNAMIC = 1 << 20  # torch's largest has 47 entries of 16 bytes
_PROGBITS, _NOBITS = 1, 8
_SHF_EXECINSTR = 4
_PE_CODE, _PE_EXECUTE = 0x20, 0x20000000
MOST_SECTIONS = 65_535
# A PE header lies within the first pages; so does an ELF header.
HEAD = 1 << 16


class KeptBytes:
    """A library that streams by, of which only some parts are kept; feed it every chunk in order.

    Kept are its beginning, where GNU's linker puts the names that it asks for, its end, where patchelf does, its
    dynamic section, and the table of its sections with what lies around it. LLVM's linker puts other names between the
    table and its own: such a part is `missed`, and read in a second look.
    """

    _HEAD, _TAIL, _AROUND = 4 << 20, 1 << 20, 1 << 18

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[ByteRange, bytearray] = {}
        self._seen = 0
        self.missed: ByteRange | None = None
        self._want(0, self._HEAD)
        self._want(size - self._TAIL, size)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        """These bytes; zeros for what was not kept."""
        start, stop, _ = place.indices(self._size)
        for part, data in self._kept.items():
            if part.offset <= start and stop <= part.offset + len(data):
                return bytes(data[start - part.offset : stop - part.offset])
        self.missed = ByteRange(start, stop - start)
        return bytes(max(0, stop - start))

    def _want(self, start: int, end: int) -> None:
        start = max(0, start)
        self._kept[ByteRange(start, min(end, self._size) - start)] = bytearray()

    def feed(self, chunk: bytes) -> None:
        start, self._seen = self._seen, self._seen + len(chunk)
        for part, data in self._kept.items():
            first, end = max(part.offset + len(data), start), min(part.offset + part.size, self._seen)
            if first < end and first == part.offset + len(data):
                data.extend(chunk[first - start : end - start])
        if start < HEAD <= self._seen:
            self._follow(self[:HEAD])

    def _follow(self, head: bytes) -> None:
        """Keep what the header points to, too."""
        header = elf_header(head)
        if header is None:
            return
        table = header.table
        self._want(table.offset - self._AROUND, table.offset + min(table.size, self._TAIL * 4) + self._AROUND)
        first, (size, count) = _PHOFF.unpack_from(head, 32)[0], _PHENT.unpack_from(head, 54)
        if size != _PROGRAM.size or first + size * count > len(head):
            return
        for place in range(first, first + size * count, size):
            kind, _, offset, _, _, length, _, _ = _PROGRAM.unpack_from(head, place)
            if kind == _DYNAMIC:
                self._want(offset, offset + min(length, MOST_DYNAMIC))

    def look_again(self, chunks: Iterable[bytes]) -> None:
        """Keep what was missed, from the same bytes once more."""
        missed, self.missed, self._seen = self.missed, None, 0
        if missed is None:
            return
        self._kept[missed] = bytearray()
        for chunk in chunks:
            self.feed(chunk)
            if self._seen >= missed.offset + missed.size:
                return


Buffer = bytes | mmap | KeptBytes


class Section(Noun):
    name: str
    offset: int
    size: int
    role: str


class ByteRange(Noun):
    """Bytes of the file that are needed to go on."""

    offset: int
    size: int


class ElfHeader(Noun):
    table: ByteRange  # the section headers
    names: int  # which of them holds the names


def form(head: bytes) -> str | None:
    """`elf`, `pe`, or None if it is neither."""
    if head[:4] == b"\x7fELF":
        return "elf"
    return "pe" if head[:2] == b"MZ" else None


def elf_header(head: bytes) -> ElfHeader | None:
    """Where the section headers are; None without any, or in an ELF that no CUDA library is (32-bit, big-endian)."""
    if len(head) < 64 or head[:4] != b"\x7fELF" or head[4] != 2 or head[5] != 1:
        return None
    _, _, _, _, _, table, _, _, _, _, entry, count, names = _ELF64.unpack_from(head, 16)
    if not table or entry != _SECTION64.size or not 0 < count <= MOST_SECTIONS:
        return None
    return ElfHeader(ByteRange(table, entry * count), names)


def elf_names(header: ElfHeader, table: bytes) -> ByteRange | None:
    """Where the section names are."""
    place = header.names * _SECTION64.size
    if place + _SECTION64.size > len(table):
        return None
    fields = _SECTION64.unpack_from(table, place)
    return ByteRange(fields[4], min(fields[5], 1 << 20))


def elf_sections(table: bytes, names: bytes, size: int) -> tuple[Section, ...]:
    """The sections that lie in the file, those outside it left out."""
    found = []
    for place in range(0, len(table) - _SECTION64.size + 1, _SECTION64.size):
        name_at, kind, flags, _, offset, length, _, _, _, _ = _SECTION64.unpack_from(table, place)
        if kind == _NOBITS or offset + length > size or not length:
            continue
        raw = names[name_at : names.find(b"\0", name_at)] if name_at < len(names) else b""
        name = raw[:64].decode("ascii", "replace")
        data = kind == _PROGBITS and not flags & _SHF_EXECINSTR
        found.append(Section(name, offset, length, _role(name, data=data)))
    return tuple(found)


def pe_sections(head: bytes, size: int) -> tuple[Section, ...] | None:
    """The sections of a DLL, from its first bytes; None where they are not a PE header."""
    at = int.from_bytes(head[60:64], "little")
    if head[:2] != b"MZ" or at + 24 > len(head) or head[at : at + 4] != b"PE\0\0":
        return None
    count = int.from_bytes(head[at + 6 : at + 8], "little")
    start = at + 24 + int.from_bytes(head[at + 20 : at + 22], "little")
    found = []
    for place in range(start, start + count * _PE_SECTION.size, _PE_SECTION.size):
        if place + _PE_SECTION.size > len(head):
            return None
        raw, _, _, length, offset, _, _, _, _, flags = _PE_SECTION.unpack_from(head, place)
        if not length or offset + length > size:
            continue
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        found.append(Section(name, offset, length, _role(name, data=not flags & (_PE_CODE | _PE_EXECUTE))))
    return tuple(found)


def _role(name: str, *, data: bool) -> str:
    if name in _ROLES:
        return _ROLES[name]
    return DATA if data and not name.startswith(_NEVER) else OTHER


def sections(buffer: Buffer) -> tuple[Section, ...] | None:
    """The sections of a library that is all there; None where it has no table of them."""
    size = len(buffer)
    head = bytes(buffer[:HEAD])
    if form(head) == "pe":
        return pe_sections(head, size)
    header = elf_header(head)
    if header is None or header.table.offset + header.table.size > size:
        return None
    table = bytes(buffer[header.table.offset : header.table.offset + header.table.size])
    where = elf_names(header, table)
    if where is None:
        return None
    return elf_sections(table, bytes(buffer[where.offset : where.offset + where.size]), size)


_ENTRY = Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST_NAME = 4096


class Linked(Noun):
    """`needed`: the libraries; `runpath` and `rpath`: folders. Only a runpath yields to LD_LIBRARY_PATH (ld.so(8))."""

    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def links_of(buffer: Buffer) -> Linked:
    """Read an ELF library's dynamic section; nothing if it is not such a library."""
    if bytes(buffer[:4]) != b"\x7fELF":
        return Linked()
    named = {section.name: section for section in sections(buffer) or ()}
    dynamic, names = named.get(".dynamic"), named.get(".dynstr")
    if dynamic is None or names is None:
        return Linked()
    found: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    size = min(dynamic.size, MOST_DYNAMIC) // _ENTRY.size * _ENTRY.size
    for tag, value in _ENTRY.iter_unpack(bytes(buffer[dynamic.offset : dynamic.offset + size])):
        if tag == 0:
            break
        if tag in found and value < names.size:
            start = names.offset + value
            raw = bytes(buffer[start : min(start + _MOST_NAME, names.offset + names.size)])
            if name := raw.partition(b"\0")[0].decode("utf-8", "replace"):
                found[tag].append(name)
    rpath, runpath = (
        tuple(part for text in found[tag] for part in text.split(":") if part) for tag in (_RPATH, _RUNPATH)
    )
    return Linked(tuple(found[_NEEDED]), rpath, runpath)
