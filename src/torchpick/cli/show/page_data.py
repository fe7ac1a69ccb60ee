"""Every platform, driver, Python and kind of GPU judged beforehand, for a page that only looks up. Pure.

What a driver and a GPU object to and what a Python objects to are independent (resolve's objections are a sum), so the
two are judged apart and kept apart: a build runs where neither holds a text. tests/show/test_page_data.py holds the sum
against resolve itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from torchpick.cli.show import words
from torchpick.decide import matrix, remarks, resolve
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.drivers import DriverTable
from torchpick.model.generations import NVIDIA, Kind, amd_kind
from torchpick.model.machine import Driver, Machine, Note, Platform, Python
from torchpick.model.pick import pip_line
from torchpick.model.pythons import python_name, python_order
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Objection, Reason, Verdict
from torchpick.model.versions import numbers, release_key

Json = dict[str, object]
T = TypeVar("T", bound=Hashable)

# The platforms with builds for GPUs, and what people call them.
PLATFORMS = {
    "linux-x86_64": "Linux, x86-64",
    "linux-aarch64": "Linux, Arm (aarch64)",
    "windows-x86_64": "Windows, x86-64",
}
# Any Python does for judging drivers and GPUs, since what it objects to is taken out again.
_ANY_PYTHON = Python("3.12")


class _Interned(Generic[T]):
    """Values by number, each kept once."""

    def __init__(self) -> None:
        self._places: dict[T, int] = {}

    def place(self, value: T) -> int:
        return self._places.setdefault(value, len(self._places))

    def values(self) -> list[T]:
        return list(self._places)


class _Atlas:
    """The tables that all platforms share."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds
        self.texts: _Interned[str] = _Interned()
        self.verdicts: _Interned[tuple[tuple[int, ...], int, int, tuple[int, ...]]] = _Interned()
        self.cells: _Interned[tuple[int, ...]] = _Interned()
        self.rows: _Interned[tuple[int, ...]] = _Interned()


class _Sheet:
    """One platform."""

    def __init__(self, atlas: _Atlas, name: str, table: Table, wish: Wish) -> None:
        self.atlas, self.name, self.table, self.wish = atlas, name, table, wish
        self.platform = Platform.parse(name)
        self.builds = [build for build in table.of(name) if build.family in ("cuda", "rocm")]
        self.places = {(build.version, build.backend): place for place, build in enumerate(self.builds)}
        self.releases = sorted({build.torch for build in self.builds}, key=release_key, reverse=True)
        self.gpus = tuple(
            gpu for gpu, kind in zip(matrix.gpus_of(atlas.kinds), atlas.kinds, strict=True) if kind.found_on(name)
        )
        self.objects: dict[str, dict[str, object]] = {}
        self._known: dict[tuple[object, ...], int] = {}

    def to_json(self) -> Json:
        drivers = ["", *drivers_of(self.table.drivers, self.platform.os)]
        tags = sorted({tag for build in self.builds for tag in build.pythons}, key=python_order, reverse=True)
        amd = self._rows("", "amd")
        return {
            "name": self.name,
            "label": PLATFORMS[self.name],
            "releases": self.releases,
            "newest": [self.releases.index(each) for each in matrix.newest_patches(self.releases)],
            "builds": [self._build(build) for build in self.builds],
            "pythons": [{"name": python_name(tag), "objects": self._without(tag)} for tag in tags],
            "drivers": [{"version": each, "rows": {**self._rows(each, "nvidia"), **amd}} for each in drivers],
            "objects": self.objects,
        }

    def _build(self, build: Build) -> list[object]:
        text = self.atlas.texts.place
        return [
            build.torch,
            build.backend,
            text(f"pip install {pip_line(build, self.wish)}"),
            text(", ".join(f"{name} {version}" for name, version in build.companions.items() if version)),
            text(build.glibc or ""),
            text(words.evidence(build)),
        ]

    def _without(self, tag: str) -> Json:
        """Build's place → why this Python cannot have it."""
        python = Python(python_name(tag).split()[1].removesuffix("t"), tag[:2], tag.endswith("t"))
        found: Json = {}
        for verdict in resolve.judge(Machine(self.platform, python), self.table, self.wish):
            place = self.places.get((verdict.build.version, verdict.build.backend))
            why = [each.text for each in verdict.objections if each.reason is Reason.NO_WHEEL_FOR_PYTHON]
            if place is not None and why:
                found[str(place)] = self.atlas.texts.place(why[0])
        return found

    def _rows(self, version: str, vendor: str) -> Json:
        """GPU's place → the driver it was judged with, and its row."""
        driver = Driver(version, self.table.drivers.speaks(Driver(version))) if version else None
        gpus = tuple(gpu for gpu in self.gpus if gpu.vendor == vendor)
        if not gpus:
            return {}
        rows = matrix.rows(Machine(self.platform, _ANY_PYTHON, driver, gpus), self.table, self.wish)
        found: Json = {}
        for row in rows:
            used = row.driver.version or "" if row.driver is not None else ""
            general = self.objects.setdefault(used, {})
            place = self.atlas.rows.place(tuple(self._cell(row, cell, general) for cell in row.cells))
            found[str(row.gpu.index)] = [used, place]
        return found

    def _cell(self, row: matrix.Row, cell: matrix.Cell, general: Json) -> int:
        """Build and verdict, build and verdict …, best first; what concerns no single GPU goes to `general`."""
        flat: list[int] = []
        for verdict in cell.verdicts:
            place = self.places[verdict.build.version, verdict.build.backend]
            flat += (place, self._verdict(row, verdict, place))
            if str(place) not in general and (shared := [each for each in verdict.objections if _shared(each)]):
                general[str(place)] = [self.atlas.texts.place(each.text) for each in shared]
        return self.atlas.cells.place(tuple(flat))

    def _verdict(self, row: matrix.Row, verdict: Verdict, place: int) -> int:
        """What this GPU says of the build: texts against it, or how it runs and what to know of it."""
        own = [each for each in verdict.objections if each.gpu is not None]
        # These facts are the build's and the GPU's, so every driver finds the same text.
        lasting = all(each.reason in (Reason.NO_KERNELS, Reason.LIBRARY_DROPPED_GPU) for each in own)
        key = (place, row.gpu.index, verdict.native, *(each.reason for each in own), "" if lasting else row.driver)
        if key not in self._known:
            text = self.atlas.texts.place
            why = tuple(text(each.text) for each in own)
            fit = 0 if why else min(each.fit for each in verdict.fits)
            how = text("" if why else words.how(verdict))
            self._known[key] = self.atlas.verdicts.place((why, fit, how, () if why else self._remarks(row, verdict)))
        return self._known[key]

    def _remarks(self, row: matrix.Row, verdict: Verdict) -> tuple[int, ...]:
        machine = Machine(self.platform, _ANY_PYTHON, row.driver, (row.gpu,))
        notes: Iterable[Note] = remarks.notes(verdict, machine, self.table, self.wish, ())
        return tuple(self.atlas.texts.place(note.text) for note in notes)


def _shared(objection: Objection) -> bool:
    return objection.gpu is None and objection.reason is not Reason.NO_WHEEL_FOR_PYTHON


def data(table: Table, wish: Wish, names: Sequence[tuple[str, str]]) -> Json:
    """All that the page looks up. `names` are products with their capabilities, or AMD's targets, between blanks."""
    known = tuple(NVIDIA) + tuple(map(amd_kind, _amd(table)))
    other = _others(names, known)
    running = [kind for kind in other if _runs_anywhere(kind, table, wish)]
    atlas = _Atlas(sorted((*known, *running), key=lambda kind: (kind.vendor != "amd", kind.arch), reverse=True))
    platforms = [_Sheet(atlas, name, table, wish).to_json() for name in PLATFORMS]
    return {
        "gpus": [_kind(kind) for kind in atlas.kinds],
        "products": [list(each) for each in dict.fromkeys(names)],
        "never": [_kind(kind)["capability"] for kind in other if kind not in running] + _never_built(names, known),
        "platforms": platforms,
        "rows": [list(row) for row in atlas.rows.values()],
        "cells": [list(cell) for cell in atlas.cells.values()],
        "verdicts": [[list(why), fit, how, list(notes)] for why, fit, how, notes in atlas.verdicts.values()],
        "texts": atlas.texts.values(),
    }


def _others(names: Iterable[tuple[str, str]], known: Iterable[Kind]) -> list[Kind]:
    """The capabilities of named products that no kind stands for: GPUs of before PyTorch's first table."""
    listed = {kind.arch.capability for kind in known}
    found = {each for _, capabilities in names for each in capabilities.split() if each[:1].isdigit()}
    arches = {Arch.of_capability(*map(int, each.split("."))) for each in found}
    return [Kind(arch, "", ()) for arch in sorted(arches) if arch.capability not in listed]


def _never_built(names: Iterable[tuple[str, str]], known: Iterable[Kind]) -> list[str]:
    """AMD's targets of named products that no build is for."""
    built = {str(kind.arch) for kind in known}
    return sorted({each for _, targets in names for each in targets.split() if each.startswith("gfx")} - built)


def _runs_anywhere(kind: Kind, table: Table, wish: Wish) -> bool:
    """Whether any build would run on it, whatever the Python."""
    for name in PLATFORMS:
        machine = Machine(Platform.parse(name), _ANY_PYTHON, None, matrix.gpus_of([kind]))
        for row in matrix.rows(machine, table, wish):
            if any(
                not verdict.reasons - {Reason.NO_WHEEL_FOR_PYTHON} for cell in row.cells for verdict in cell.verdicts
            ):
                return True
    return False


def _kind(kind: Kind) -> Json:
    arch = kind.arch
    capability = "" if kind.vendor == "amd" else f"{arch.major}.{arch.minor}"
    return {
        "arch": str(arch),
        "capability": capability,
        "generation": kind.generation,
        "examples": ", ".join(kind.examples),
    }


def _amd(table: Table) -> list[Arch]:
    found = {arch for shelf in table.builds.values() for build in shelf for arch in build.arches or ()}
    return sorted((arch for arch in found if arch.kind == "gfx"), key=lambda arch: (len(arch.suffix), arch.suffix))


def drivers_of(table: DriverTable, os: str) -> list[str]:
    """One driver a branch, newest first: the floor that NVIDIA names for its CUDA, or the bare branch."""
    floors = [row[os] for row in (*table.toolkits.values(), *table.majors.values()) if os in row]
    found = []
    for branch in table.branches:
        mine = [floor for floor in floors if table.branch_of(floor) == branch]
        found.append(max(mine, key=numbers, default=str(branch.number)))
    return found[::-1]


def nearest(version: str | None, table: DriverTable, os: str) -> str:
    """The page's driver for a given one: the one of its branch, else the next older, else none."""
    if version is None:
        return ""
    branch = table.branch_number(Driver(version))
    return next((each for each in drivers_of(table, os) if table.branch_number(Driver(each)) <= branch), "")
