"""Shared libraries as files: the sections of ELF and PE, which of them may hold GPU code, and what a library needs."""

from __future__ import annotations

from mmap import mmap
from struct import Struct
from typing import NamedTuple

# What a section is to us. The names are nvcc's; PE cuts them to eight characters.
EXECUTABLE, DATA, OTHER = "executable", "data", "other"
_EXECUTABLE = (".nv_fatbin", ".nv_fatb")
# Sections of the compiler and the linker: no program keeps data there, and they are large. What nvcc left of its
# objects before it linked them is loaded by nobody.
_NEVER = (
    *("__nv_rel", ".eh_frame", ".gcc_except_table", ".debug", ".comment", ".dynstr"),
    *(".pdata", ".xdata", ".reloc", ".rsrc"),
)

# What else their headers hold is skipped (`x`).
_ELF64 = Struct("<24xQ10xHHH")  # from byte 16, e_type: e_shoff, then e_shentsize, e_shnum, e_shstrndx
_SECTION64 = Struct("<IIQ8xQQ24x")  # sh_name, sh_type, sh_flags, sh_offset, sh_size
_PE_SECTION = Struct("<8s8xII12xI")  # Name, SizeOfRawData, PointerToRawData, Characteristics
_MOST_NAMES = 1 << 20
MOST_DYNAMIC = 1 << 20  # torch's largest has 47 entries of 16 bytes
_PROGBITS, _NOBITS = 1, 8
_SHF_EXECINSTR = 4
_PE_CODE, _PE_EXECUTE = 0x20, 0x20000000
MOST_SECTIONS = 65_535
_ELF_HEAD = 64
_PE_HEAD = 1 << 16  # it lies within the first pages


Buffer = bytes | mmap


class Section(NamedTuple):
    name: str
    offset: int
    size: int
    role: str


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
    start, entry, count, names_at = _ELF64.unpack_from(head, 16)
    if not start or entry != _SECTION64.size or not names_at < count <= MOST_SECTIONS or start + entry * count > size:
        return None
    rows = [*_SECTION64.iter_unpack(buffer[start : start + entry * count])]
    names_start, names_size = rows[names_at][3:]
    names = bytes(buffer[names_start : names_start + min(names_size, _MOST_NAMES)])
    table = []
    for name_at, kind, flags, offset, length in rows:
        if kind == _NOBITS or offset + length > size or not length:
            continue
        raw = names[name_at : names.find(b"\0", name_at)] if name_at < len(names) else b""
        name = raw[:64].decode("ascii", "replace")
        data = kind == _PROGBITS and not flags & _SHF_EXECINSTR
        table.append(Section(name, offset, length, _role(name, data=data)))
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
        raw, length, offset, flags = _PE_SECTION.unpack_from(head, entry)
        if not length or offset + length > size:
            continue
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        table.append(Section(name, offset, length, _role(name, data=not flags & (_PE_CODE | _PE_EXECUTE))))
    return tuple(table)


def _role(name: str, *, data: bool) -> str:
    if name in _EXECUTABLE:
        return EXECUTABLE
    return DATA if data and not name.startswith(_NEVER) else OTHER


def read_sections(buffer: Buffer) -> tuple[Section, ...] | None:
    """The sections of a library; None where it has no table of them."""
    kind = library_format(buffer[:4])
    return None if kind is None else _pe_sections(buffer) if kind == "pe" else _elf_sections(buffer)


_ENTRY = Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST_NAME = 4096


class Linked(NamedTuple):
    """`needed`: the libraries; `runpath` and `rpath`: folders. Only a runpath yields to LD_LIBRARY_PATH (ld.so(8))."""

    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_links(buffer: Buffer) -> Linked:
    """Read an ELF library's dynamic section; nothing if it is not such a library."""
    if bytes(buffer[:4]) != b"\x7fELF":
        return Linked()
    named = {section.name: section for section in read_sections(buffer) or ()}
    dynamic, names = named.get(".dynamic"), named.get(".dynstr")
    if dynamic is None or names is None:
        return Linked()
    texts: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    size = min(dynamic.size, MOST_DYNAMIC) // _ENTRY.size * _ENTRY.size
    for tag, value in _ENTRY.iter_unpack(bytes(buffer[dynamic.offset : dynamic.offset + size])):
        if tag == 0:
            break
        if tag in texts and value < names.size:
            start = names.offset + value
            raw = bytes(buffer[start : min(start + _MOST_NAME, names.offset + names.size)])
            if name := raw.partition(b"\0")[0].decode("utf-8", "replace"):
                texts[tag].append(name)
    rpath, runpath = (tuple(filter(None, ":".join(texts[tag]).split(":"))) for tag in (_RPATH, _RUNPATH))
    return Linked(tuple(texts[_NEEDED]), rpath, runpath)
