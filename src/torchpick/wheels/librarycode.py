"""One library: the GPU code it holds, module by module, and where that code lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from mmap import mmap
from operator import attrgetter, itemgetter

from torchpick.errors import WheelLayoutError
from torchpick.model.arch import Arch
from torchpick.model.fields import written
from torchpick.model.noun import Noun
from torchpick.wheels import fatbin, sections
from torchpick.wheels.cursor import BufferCursor, StreamCursor
from torchpick.wheels.sections import EXECUTABLE, RELOCATABLE, KeptBytes, Section

# The most different sets of architectures one library may hold; the richest measured has 41.
MOST_SETS = 4096


class Modules(Noun):
    """So many modules alike; the driver loads one image of each. Images without a kernel are not counted in."""

    sass: tuple[Arch, ...]
    ptx: tuple[Arch, ...]
    count: int  # type: ignore[assignment]  # nobody calls tuple.count on it


class Held(Noun):
    """The code of one place: everything named in it, and its modules; `empty` of them have no kernel at all."""

    sass: tuple[Arch, ...] = ()
    ptx: tuple[Arch, ...] = ()
    modules: tuple[Modules, ...] = ()
    empty: int = 0

    @property
    def total(self) -> int:
        """The modules that have a kernel."""
        return sum(each.count for each in self.modules)


class Elsewhere(Noun):
    """Code outside the sections that a loader registers: data of the library's own, or a tool's."""

    section: str
    form: str  # `fatbin` or `cubin`
    held: Held

    def to_json(self) -> dict[str, object]:
        return {**written(self, "section", "form"), "modules": self.held.total, **written(self.held, "sass", "ptx")}


class Library(Noun):
    """What one file holds. `complete` is false where only a part of it was read or could be read."""

    path: str
    size: int
    code: Held = Held()
    relocatable: Held = Held()
    elsewhere: tuple[Elsewhere, ...] = ()
    lto: int = 0
    isa: tuple[int, int] | None = None  # the newest ISA of its PTX: the driver must know it
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def sass(self) -> tuple[Arch, ...]:
        return self.code.sass

    @property
    def ptx(self) -> tuple[Arch, ...]:
        return self.code.ptx

    @property
    def holds_code(self) -> bool:
        return bool(self.code.sass or self.code.ptx or self.relocatable.sass or self.relocatable.ptx or self.elsewhere)

    @property
    def generations(self) -> int | None:
        """How many its machine code is for; None where PTX makes it run on later ones."""
        return None if self.ptx else len({arch.major for arch in self.sass})

    @property
    def possible_ptx(self) -> tuple[Arch, ...]:
        """PTX that every pre-link object has: the driver may link it anew at load time; possible, not proven."""
        sets = [frozenset(each.ptx) for each in self.relocatable.modules]
        return in_order(frozenset.intersection(*sets)) if sets else ()


def in_order(arches: Iterable[Arch]) -> tuple[Arch, ...]:
    """By number, plain before its `a` and `f`."""
    return tuple(sorted(set(arches), key=lambda each: (each.kind, each.major, each.minor, each.suffix)))


def union(sets: Iterable[tuple[Arch, ...]]) -> tuple[Arch, ...]:
    return in_order(arch for each in sets for arch in each)


def texts(arches: Iterable[Arch]) -> list[str]:
    return [str(each) for each in arches]


Alike = dict[tuple[fatbin.CodeEntry, ...], int]


class _Tally:
    """Counts what a scan finds, place by place, in memory that does not grow with the file."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], Alike] = {}
        self.broken = 0

    def add(self, section: Section | None, hits: Iterable[fatbin.Container | fatbin.Cubin]) -> None:
        """Those alike are counted and looked at once: a library has thousands of few kinds, one kind after another."""
        place = _place(section)
        for (kind, entries, broken), run in groupby(hits, attrgetter("__class__", "entries", "broken")):
            count = sum(1 for _ in run)
            alike = self.places.setdefault((place, "cubin" if kind is fatbin.Cubin else "fatbin"), {})
            alike[entries] = alike.get(entries, 0) + count
            self.broken += count if broken else 0
            if len(alike) > MOST_SETS:
                raise WheelLayoutError(
                    f"contains more than {MOST_SETS} different sets of architectures",
                    hint="the file may be damaged or malicious",
                )

    def library(self, path: str, size: int, *, complete: bool, notes: tuple[str, ...] = ()) -> Library:
        held = {key: _held(alike) for key, alike in sorted(self.places.items()) if alike}
        executable = held.pop((EXECUTABLE, "fatbin"), Held())
        relocatable = held.pop((RELOCATABLE, "fatbin"), Held())
        if self.broken:
            notes += (f"{self.broken} code containers end in invalid bytes",)
        apart = tuple(Elsewhere(place, form, here) for (place, form), here in held.items() if here.sass or here.ptx)
        kinds = [(entries, count) for alike in self.places.values() for entries, count in alike.items()]
        # LTO-IR alone: linked by a program at run time, loaded by no driver
        lto = sum(count for entries, count in kinds if entries and not _images(entries))
        isa = max((one.version for entries, _ in kinds for one in entries if one.kind == fatbin.PTX), default=None)
        whole = complete and not self.broken
        return Library(path, size, executable, relocatable, apart, lto, isa, whole, notes)


def _images(entries: tuple[fatbin.CodeEntry, ...]) -> list[fatbin.CodeEntry]:
    return [entry for entry in entries if entry.kind in (fatbin.ELF, fatbin.PTX)]


def _held(alike: Alike) -> Held:
    """What the containers of one place come to."""
    sets: Counter[tuple[Arch, ...]] = Counter()
    empty = 0
    for entries, count in alike.items():
        images = _images(entries)
        if real := in_order(entry.arch for entry in images if not entry.empty):
            sets[real] += count
        elif images:
            empty += count
    named = in_order(entry.arch for entries in alike for entry in _images(entries))
    modules = [Modules(*_split(real), count) for real, count in sets.items()]
    return Held(*_split(named), tuple(sorted(modules, key=lambda each: (-each.count, each))), empty)


def _split(arches: tuple[Arch, ...]) -> tuple[tuple[Arch, ...], tuple[Arch, ...]]:
    """Machine code and PTX."""
    return tuple(a for a in arches if a.kind != "compute"), tuple(a for a in arches if a.kind == "compute")


def _place(section: Section | None) -> str:
    """The role where a loader finds it, else the section's own name."""
    if section is None:
        return "?"
    return section.role if section.role in (EXECUTABLE, RELOCATABLE) else section.name


_AMD = "contains AMD GPU code (.hip_fatbin), which is not read"
_NO_TABLE = "the file has no section table, so it is not known which of its code a loader would find"


def of_buffer(buffer: bytes | mmap, path: str, *, data: bool = True) -> Library:
    """Read a library that is all there; of a memory map only the headers and the data sections are touched.

    Without `data` only the code that a loader registers is read, which costs a tenth.
    """
    size = len(buffer)
    if (bare := _bare(bytes(buffer[:64]), buffer, path)) is not None:
        return bare
    if sections.form(bytes(buffer[:4])) is None:
        return Library(path, size)
    table = sections.sections(buffer)
    tally = _Tally()
    if table is None:
        tally.add(None, fatbin.scan(BufferCursor(buffer)))
        return _without_table(tally.library(path, size, complete=True))
    end = 0
    for section in sorted(table, key=lambda each: each.offset):
        if section.role == sections.OTHER or (section.role == sections.DATA and not data):
            continue
        # Sections that overlap are read once: hostile tables name the same bytes a thousand times.
        cursor = BufferCursor(buffer, max(section.offset, end), section.offset + section.size)
        end = max(end, section.offset + section.size)
        # In nvcc's own sections nothing lies bare, and they are most of the file: one search the less.
        tally.add(section, fatbin.scan(cursor, cubins=section.role == sections.DATA))
    return tally.library(path, size, complete=True, notes=_notes(table))


def of_stream(  # noqa: PLR0913 # what a stream is, and what may help to read it
    chunks: Iterable[bytes],
    size: int,
    path: str,
    *,
    again: Callable[[], Iterable[bytes]] | None = None,
    whole: bool = True,
    kept: KeptBytes | None = None,
) -> Library:
    """Read a library as it streams by. `again` starts over, for a section table that was not where it is usual."""
    kept = kept or KeptBytes(size)
    seen = 0

    def watched() -> Iterator[bytes]:
        nonlocal seen
        for chunk in chunks:
            seen += len(chunk)
            kept.feed(chunk)
            yield chunk

    cursor = StreamCursor(watched(), size)
    head = cursor.peek(64)
    if sections.form(head) is None or fatbin.cubin_arch(head) is not None:
        rest = cursor.peek(size) if size <= _MOST_LOOSE else b""
        return _bare(head, rest, path) or Library(path, size)
    hits = _kept(fatbin.scan(cursor))
    # Without any code it does not matter where it would lie.
    table = _table(kept, again if whole and hits else None)
    tally = _Tally()
    if table is None:
        place = Section(".nv_fatbin", 0, size, EXECUTABLE) if not whole else None
        # The last container of a sample is cut by its end.
        tally.add(place, (hit for hit in hits if whole or not (isinstance(hit, fatbin.Container) and hit.broken)))
        found = tally.library(path, size, complete=whole and seen >= size)
        return _without_table(found) if whole else found
    for section, here in groupby(_classified(sorted(table, key=lambda each: each.offset), hits), itemgetter(0)):
        tally.add(section, (hit for _, hit in here))
    return tally.library(path, size, complete=seen >= size, notes=_notes(table))


def _kept(hits: Iterable[fatbin.Container | fatbin.Cubin]) -> list[fatbin.Container | fatbin.Cubin]:
    """What a scan found, until the section table at the end says what it was; entries that are alike are kept once."""
    alike: dict[tuple[fatbin.CodeEntry, ...], tuple[fatbin.CodeEntry, ...]] = {}
    found: list[fatbin.Container | fatbin.Cubin] = []
    entries = 0
    for hit in hits:
        if isinstance(hit, fatbin.Container):
            same = alike.setdefault(hit.entries, hit.entries)
            if same is hit.entries and (entries := entries + len(same)) > fatbin.MOST_CONTAINERS:
                raise WheelLayoutError(
                    "contains more code containers than can be counted", hint="the file may be damaged or malicious"
                )
            found.append(hit._replace(entries=same))
        else:
            found.append(hit)
    return found


def _table(kept: KeptBytes, again: Callable[[], Iterable[bytes]] | None) -> tuple[Section, ...] | None:
    """The sections, after a second look where the first passed them by; None where there is no table."""
    table = sections.sections(kept)
    for _ in range(2):  # the table, and its names
        if kept.missed is None or again is None:
            break
        kept.look_again(again())
        table = sections.sections(kept)
    return table if kept.missed is None else None


def _without_table(found: Library) -> Library:
    return found._replace(notes=(_NO_TABLE, *found.notes)) if found.holds_code else found


def _notes(table: Iterable[Section]) -> tuple[str, ...]:
    return (_AMD,) if any(section.name == ".hip_fatbin" for section in table) else ()


def _classified(
    table: list[Section], hits: list[fatbin.Container | fatbin.Cubin]
) -> Iterator[tuple[Section, fatbin.Container | fatbin.Cubin]]:
    """Each hit with the first section that holds it, as the reader of a buffer meets them."""
    readable = [section for section in table if section.role != sections.OTHER]
    place = 0
    for hit in hits:
        while place < len(readable) and readable[place].offset + readable[place].size <= hit.offset:
            place += 1
        if place == len(readable) or hit.offset < readable[place].offset:
            continue
        section = readable[place]
        if isinstance(hit, fatbin.Container):
            yield section, hit._replace(broken=hit.broken or hit.end > section.offset + section.size)
        elif section.role == sections.DATA:
            yield section, hit


# Files that are GPU code and nothing else are small: the largest cubin of flashinfer-cubin has 3 MB.
_MOST_LOOSE = 64 << 20


def _bare(head: bytes, buffer: bytes | mmap, path: str) -> Library | None:
    """A file that is one cubin, one container or one PTX text; None for everything else."""
    size = len(buffer)
    if (arch := fatbin.cubin_arch(head)) is not None:
        return Library(path, size, Held((arch,), (), (Modules((arch,), (), 1),)))
    if head[:4] != fatbin.MAGIC or size > _MOST_LOOSE:
        return None
    tally = _Tally()
    tally.add(Section(".nv_fatbin", 0, size, EXECUTABLE), fatbin.scan(BufferCursor(buffer)))
    return tally.library(path, size, complete=True)
