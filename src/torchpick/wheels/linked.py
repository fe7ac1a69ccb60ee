"""What a library asks the loader for: the names it needs, and where it says to look. ELF alone; pure."""

from __future__ import annotations

from mmap import mmap
from struct import Struct
from typing import NamedTuple

from torchpick.wheels import image

_ENTRY = Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST = 1 << 16  # entries of a dynamic section; torch's largest has 47
_MOST_NAME = 4096


class Linked(NamedTuple):
    """`needed`: the libraries; `runpath` and `rpath`: folders. Only a runpath yields to LD_LIBRARY_PATH (ld.so(8))."""

    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def of_buffer(buffer: bytes | mmap) -> Linked:
    """Read an ELF library's dynamic section; nothing of what is no such library."""
    if bytes(buffer[:4]) != b"\x7fELF":
        return Linked()
    sections = {section.name: section for section in image.sections(buffer) or ()}
    dynamic, names = sections.get(".dynamic"), sections.get(".dynstr")
    if dynamic is None or names is None:
        return Linked()
    found: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    end = dynamic.offset + min(dynamic.size, _MOST * _ENTRY.size)
    for place in range(dynamic.offset, end - _ENTRY.size + 1, _ENTRY.size):
        tag, value = _ENTRY.unpack_from(buffer, place)
        if tag == 0:
            break
        if tag in found and value < names.size:
            start = names.offset + value
            raw = bytes(buffer[start : min(start + _MOST_NAME, names.offset + names.size)])
            found[tag].append(raw.partition(b"\0")[0].decode("utf-8", "replace"))
    rpath, runpath = (
        tuple(part for text in found[tag] for part in text.split(":") if part) for tag in (_RPATH, _RUNPATH)
    )
    return Linked(tuple(found[_NEEDED]), rpath, runpath)
