"""What a library needs from the loader: names of libraries, and where to look for them. ELF alone; pure."""

from __future__ import annotations

from contextlib import suppress
from mmap import mmap
from struct import Struct

from torchpick.model.noun import Noun
from torchpick.wheels import image

_ENTRY = Struct("<QQ")
_PHOFF, _PHENT, _PROGRAM = Struct("<Q"), Struct("<HH"), Struct("<IIQQQQQQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MOST = 1 << 16  # entries of a dynamic section; torch's largest has 47
_MOST_NAME = 4096


class Linked(Noun):
    """`needed`: the libraries; `runpath` and `rpath`: folders. Only a runpath yields to LD_LIBRARY_PATH (ld.so(8))."""

    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def of_buffer(buffer: bytes | mmap) -> Linked:
    """Read an ELF library's dynamic section; nothing if it is not such a library."""
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


class LinkWatch:
    """What a library asks for, known from its bytes as they stream by; feed it every chunk in order.

    Kept are its beginning, where GNU's linker puts the names, its end, where patchelf does, and its dynamic section, in
    a map of memory of which the rest is never touched.
    """

    _HEAD, _TAIL = 4 << 20, 1 << 20
    _MOST = 8 << 30
    _DYNAMIC = 2  # a program header's kind

    def __init__(self, size: int) -> None:
        self._size, self._seen, self._first = size, 0, b""
        self._map: mmap | None = None
        self._wanted: list[tuple[int, int]] = []

    def feed(self, chunk: bytes) -> None:
        if self._seen < 64:
            self._first += chunk[: 64 - self._seen]
            if len(self._first) >= 64 and self._first[:4] == b"\x7fELF" and self._size <= self._MOST:
                self._open()
        start, self._seen = self._seen, self._seen + len(chunk)
        if self._map is None:
            return
        if start < 64:
            self._map[: len(self._first)] = self._first
        for first, end in self._wanted:
            begin, stop = max(first, start), min(end, self._seen)
            if begin < stop:
                self._map[begin:stop] = chunk[begin - start : stop - start]
        if start < self._HEAD and len(self._wanted) == 2:
            self._find_dynamic()

    def _open(self) -> None:
        with suppress(OSError, ValueError, OverflowError):
            self._map = mmap(-1, self._size)
            self._wanted = [(0, min(self._HEAD, self._size)), (max(0, self._size - self._TAIL), self._size)]

    def _find_dynamic(self) -> None:
        if self._map is None:
            return
        table, (entry, count) = _PHOFF.unpack_from(self._map, 32)[0], _PHENT.unpack_from(self._map, 54)
        if entry != _PROGRAM.size or table + entry * count > min(self._seen, self._size):
            return
        for place in range(table, table + entry * count, entry):
            kind, _, offset, _, _, length, _, _ = _PROGRAM.unpack_from(self._map, place)
            if kind == self._DYNAMIC:
                self._wanted.append((offset, offset + min(length, _MOST * _ENTRY.size)))

    def linked(self) -> Linked:
        if self._map is None:
            return Linked()
        try:
            return of_buffer(self._map)
        finally:
            self._map.close()
            self._map = None
