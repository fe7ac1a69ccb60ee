"""Shared libraries as files: the sections of ELF and PE, and which of them may hold GPU code."""

from __future__ import annotations

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
_PROGBITS, _NOBITS = 1, 8
_SHF_EXECINSTR = 4
_PE_CODE, _PE_EXECUTE = 0x20, 0x20000000
MOST_SECTIONS = 65_535
# A PE header lies within the first pages; so does an ELF header.
HEAD = 1 << 16


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


def sections(buffer: bytes | mmap) -> tuple[Section, ...] | None:
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


class SectionWatch:
    """Finds the section table of a library that streams by; feed it every chunk in order."""

    # GNU's linker and patchelf put the names right before the table, or after it.
    KEEP = 1 << 18
    # LLVM's puts all symbol names between them; there the section names are known by their own.
    OWN_NAME = b"\0.shstrtab\0"
    _AROUND = 1 << 13

    def __init__(self, size: int) -> None:
        self._size = size
        self._seen = 0
        self._head = b""
        self._recent = b""  # the last bytes before the table
        self._header: ElfHeader | None = None
        self._parts: dict[ByteRange, bytes] = {}
        self._names: ByteRange | None = None
        self._wanted: ByteRange | None = None
        self._last = b""
        self._guess: tuple[int, bytes] = (0, b"")

    def feed(self, chunk: bytes) -> None:
        start = self._seen
        self._seen += len(chunk)
        if start < HEAD:
            self._head += chunk[: HEAD - start]
            if self._header is None and len(self._head) >= 64:
                self._header = elf_header(self._head)
                self._wanted = self._header.table if self._header else None
        if self._header is None:
            return
        window = self._last + chunk
        if (at := window.rfind(self.OWN_NAME)) >= 0:
            begin = max(0, at - self._AROUND)
            self._guess = start - len(self._last) + begin, window[begin : at + self._AROUND]
        self._last = window[-self._AROUND :]
        if self._wanted is not None:
            self._take(self._wanted, start, chunk)
        if self._names is None and self._seen > self._header.table.offset - self.KEEP:
            self._recent = (self._recent + chunk)[-self.KEEP - len(chunk) :]
            self._find_names()

    def _take(self, wanted: ByteRange, start: int, chunk: bytes) -> None:
        """Keep what this chunk holds of the wanted bytes."""
        begin, end = max(wanted.offset, start), min(wanted.offset + wanted.size, start + len(chunk))
        if begin < end and wanted.size <= MOST_SECTIONS * _SECTION64.size:
            self._parts[wanted] = self._parts.get(wanted, b"") + chunk[begin - start : end - start]

    def _find_names(self) -> None:
        """Once the table is whole, look for the names behind us, or wait for them."""
        if self._header is None or self._wanted != self._header.table:
            return
        table = self._parts.get(self._header.table, b"")
        if len(table) < self._header.table.size:
            return
        self._names = elf_names(self._header, table)
        self._wanted = self._names
        if self._names is None:
            return
        first = self._seen - len(self._recent)
        if self._names.offset >= first:
            self._take(self._names, first, self._recent)
        else:
            self._take(self._names, *self._guess)
        self._recent = b""

    def sections(self) -> tuple[Section, ...] | ByteRange | None:
        """The sections; the Range that must be read once more to know them; or None where there is no table."""
        if form(self._head) == "pe":
            return pe_sections(self._head, self._size)
        if self._header is None:
            return None
        table = self._parts.get(self._header.table, b"")
        if len(table) < self._header.table.size:
            return self._header.table if self._header.table.offset + self._header.table.size <= self._size else None
        if self._names is None:
            return None
        names = self._parts.get(self._names, b"")
        if len(names) < self._names.size:
            return self._names if self._names.offset + self._names.size <= self._size else None
        return elf_sections(table, names, self._size)

    def supply(self, wanted: ByteRange, data: bytes) -> None:
        """The bytes of a Range that `sections` asked for."""
        self._parts[wanted] = data
        self._find_names()
