"""What a library needs from the loader: names of libraries, and where to look for them. ELF alone; pure."""

from __future__ import annotations

from struct import Struct

from torchpick.model.noun import Noun
from torchpick.wheels import image
from torchpick.wheels.image import Buffer

_ENTRY = Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST_NAME = 4096


class Linked(Noun):
    """`needed`: the libraries; `runpath` and `rpath`: folders. Only a runpath yields to LD_LIBRARY_PATH (ld.so(8))."""

    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def of_buffer(buffer: Buffer) -> Linked:
    """Read an ELF library's dynamic section; nothing if it is not such a library."""
    if bytes(buffer[:4]) != b"\x7fELF":
        return Linked()
    sections = {section.name: section for section in image.sections(buffer) or ()}
    dynamic, names = sections.get(".dynamic"), sections.get(".dynstr")
    if dynamic is None or names is None:
        return Linked()
    found: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    size = min(dynamic.size, image.MOST_DYNAMIC) // _ENTRY.size * _ENTRY.size
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
