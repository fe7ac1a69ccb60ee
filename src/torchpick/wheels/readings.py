"""What was read of wheels before, in the user's cache, by their sha256: a wheel read once is not read again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from torchpick.errors import TorchpickError
from torchpick.index import wheelnames
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError, read, written
from torchpick.wheels import shelf
from torchpick.wheels.library import Elsewhere, Held, Library, Modules
from torchpick.wheels.reading import FLAGS, SAMPLE, WHOLE, Reading, TorchFacts
from torchpick.wheels.wheel import DEFAULT_WHOLE, Allowance

# Raised where the readers of wheels find more or other things than before: older readings are then read anew.
_SCHEMA = 2
# The largest of the packages read so far takes 40 KB; so the cache stays below some 100 MB.
_MOST_BYTES = 1 << 20
_MOST_FILES = 4096
_PRUNE_EVERY = 64


class Readings:
    """A folder with a file for each reading. A damaged one counts as none."""

    def __init__(self, cache: str) -> None:
        self._folder = Path(cache) / "readings"
        self._kept = 0

    def find(
        self, url: str, sha256: str | None, depth: str | None, allowance: Allowance | None = None
    ) -> Reading | None:
        """The reading of this file, at the depth that is asked for, with what it cost then.

        A sample does not answer where by default the whole wheel would be read.
        """
        if sha256 is None:
            return None
        for each in _answering(url, depth):
            with suppress(ShapeError, ValueError):
                fields = Fields(shelf.read(self._file(sha256, each)))
                if fields.number("schema") == _SCHEMA and fields.text("origin") == _origin(url):
                    reading = of_json(fields.object("reading"))
                    whole = allowance.most if allowance else DEFAULT_WHOLE
                    if depth is not None or each != SAMPLE or reading.size > whole:
                        return reading
        return None

    def keep(self, url: str, reading: Reading) -> None:
        """Remember it, if its content is known by its hash; a cache that cannot be written is no error."""
        if reading.sha256 is None:
            return
        value = {"schema": _SCHEMA, "origin": _origin(url), "reading": to_json(reading)}
        with suppress(TorchpickError, OSError):
            shelf.write(self._file(reading.sha256, reading.depth), value, _MOST_BYTES)
            if self._kept % _PRUNE_EVERY == 0:
                self._prune()
            self._kept += 1

    def _file(self, sha256: str, depth: str) -> Path:
        return self._folder / f"{sha256}-{depth}.json"

    def _prune(self) -> None:
        """Let the oldest go where there are too many."""
        files = [entry for entry in os.scandir(self._folder) if entry.name.endswith(".json")]
        if len(files) <= _MOST_FILES:
            return
        files.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in files[: len(files) - _MOST_FILES * 3 // 4]:
            with suppress(OSError):
                os.unlink(entry.path)


def _answering(url: str, depth: str | None) -> tuple[str, ...]:
    """The depths whose readings answer a question for this one; by default a torch is read by its flags."""
    if depth is not None:
        return (depth,)
    wheel = wheelnames.parse(urlsplit(url).path.rpartition("/")[2])
    return (FLAGS, WHOLE, SAMPLE) if wheel is not None and wheel.project == "torch" else (WHOLE, SAMPLE)


def _origin(url: str) -> str:
    """The host, without credentials. The hash is the index's word: one index must not speak for another's files."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def to_json(reading: Reading) -> dict[str, object]:
    return {**written(reading), "libraries": [_library(each) for each in reading.libraries]}


def _library(one: Library) -> dict[str, object]:
    isa = None if one.isa is None else f"{one.isa[0]}.{one.isa[1]}"
    return {**written(one), "elsewhere": [written(each) for each in one.elsewhere], "isa": isa}


def of_json(row: Fields) -> Reading:
    """Raises ShapeError or ValueError."""
    torch = row.maybe_object("torch")
    return read(
        Reading,
        row,
        most=None,
        strict=True,
        torch=None if torch is None else read(TorchFacts, torch, flags=_arches(torch, "flags")),
        libraries=tuple(_library_of(each) for each in row.objects("libraries")),
    )


def _library_of(row: Fields) -> Library:
    isa = row.maybe_text("isa")
    newest, _, minor = (isa or "").partition(".")
    return read(
        Library,
        row,
        most=None,
        strict=True,
        code=_held_of(row.object("code")),
        relocatable=_held_of(row.object("relocatable")),
        elsewhere=tuple(read(Elsewhere, each, held=_held_of(each.object("held"))) for each in row.objects("elsewhere")),
        isa=None if isa is None else (int(newest), int(minor)),
    )


def _held_of(row: Fields) -> Held:
    sets = tuple(
        Modules(_arches(each, "sass"), _arches(each, "ptx"), each.number("count")) for each in row.objects("modules")
    )
    return Held(_arches(row, "sass"), _arches(row, "ptx"), sets, row.number("empty"))


def _arches(row: Fields, name: str) -> tuple[Arch, ...]:
    return tuple(map(Arch.parse, row.texts(name)))
