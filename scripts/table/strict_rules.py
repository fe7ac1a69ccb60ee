"""The rules of drivers.json, libraries.json, amd.json and apple.json, each value checked: every fault has its path."""

from __future__ import annotations

from scripts.table.strict_rows import dotted, read_arches, released
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.table import (
    AmdIndex,
    AmdRules,
    Branch,
    DriverTable,
    Floor,
    GfxOverride,
    LibraryFloors,
    MpsFloor,
    RocblasGap,
    is_day,
)
from torchpick.model.versions import is_dotted, numbers


def amd(fields: Fields) -> AmdRules:
    """What amd.json says of rocBLAS, overrides and AMD's own indexes."""
    gaps, overrides, indexes = [], [], []
    for row in fields.objects("rocblas"):
        dotted(row.text("from"), row.at("from"))
        dotted(row.maybe_text("before"), row.at("before"))
        lacks = read_arches(row.texts("lacks"), row.at("lacks"))
        gaps.append(RocblasGap(row.text("from"), row.maybe_text("before"), lacks))
    for row in fields.objects("overrides"):
        version = row.text("as")
        if not is_dotted(version) or version.count(".") != 2:  # major, minor, step
            raise row.fail("as", f"must be such as 10.3.0, is {version!r}")
        targets = read_arches(row.texts("targets"), row.at("targets"))
        overrides.append(GfxOverride(targets, version, row.flag("works"), row.text("why")))
    for row in fields.objects("indexes"):
        targets = read_arches(row.texts("targets"), row.at("targets"))
        indexes.append(AmdIndex(row.text("url"), row.texts("platforms"), targets))
    return AmdRules(tuple(gaps), tuple(overrides), tuple(indexes))


def mps(fields: Fields) -> tuple[MpsFloor, ...]:
    """From which macOS on each release reaches an Apple GPU."""
    found = []
    for row in fields.objects("mps"):
        released(row.text("from"), row.at("from"))
        dotted(row.text("macos"), row.at("macos"))
        found.append(MpsFloor(row.text("from"), row.text("macos")))
    return tuple(found)


def released_on(fields: Fields, name: str) -> str:
    """A day such as 2026-11-22."""
    text = fields.text(name)
    if not is_day(text):
        raise fields.fail(name, f"must be a day such as 2026-11-22, is {text[:40]!r}")
    return text


def drivers(fields: Fields) -> DriverTable:
    """The rules of drivers.json; the first row of a toolkit is its oldest release."""
    toolkits: dict[str, dict[str, str]] = {}
    for row in fields.objects("toolkits"):
        if row.maybe_text("update") is None:
            toolkits[row.text("cuda")] = _per_os(row)
    last = {
        _capability(text, row.at("capabilities")): row.number("branch")
        for row in fields.objects("last_branch")
        for text in row.texts("capabilities")
    }
    first = {
        _capability(text, row.at("capabilities")): _per_os(row)
        for row in fields.objects("first_driver")
        for text in row.texts("capabilities")
    }
    branches = tuple(_branch(row) for row in fields.objects("branches"))
    if not branches:
        raise fields.fail("branches", "must not be empty")
    return DriverTable(
        toolkits=toolkits,
        majors={row.number("cuda_major"): _per_os(row) for row in fields.objects("majors")},
        branches=tuple(sorted(branches, key=lambda branch: branch.number)),
        last_branch=last,
        first_driver=first,
        unified_tegra=fields.object("unified_tegra").text("linux"),
        generations=_generations(fields),
    )


def _branch(row: Fields) -> Branch:
    number, last = row.number("branch"), row.number("windows_last")
    dotted(row.text("cuda"), row.at("cuda"))
    if last < number:
        raise row.fail("windows_last", f"must not be below {number}, is {last}")
    return Branch(number, row.text("cuda"), last)


def _generations(fields: Fields) -> tuple[tuple[str, frozenset[int]], ...]:
    """CUDA → the major capabilities its toolkit compiles for; the index holds no more of toolkit_arches than that."""
    found = []
    for row in fields.objects("toolkit_arches"):
        dotted(row.text("cuda"), row.at("cuda"))
        names = row.texts("arches") if row.has("arches") else tuple(f"sm_{major}0" for major in row.texts("majors"))
        found.append((row.text("cuda"), frozenset(arch.capability[0] for arch in read_arches(names, row.at("arches")))))
    return tuple(sorted(found, key=lambda each: numbers(each[0])))


def floors(fields: Fields) -> LibraryFloors:
    """The floors of libraries.json."""
    return LibraryFloors(cudnn=_floors(fields, "cudnn"), nccl=_floors(fields, "nccl"))


def _floors(fields: Fields, library: str) -> tuple[Floor, ...]:
    found = []
    for row in fields.objects(library):
        dotted(row.text("from"), row.at("from"))
        floor = _capability(row.text("floor"), row.at("floor"))
        found.append(Floor(row.text("from"), floor, row.maybe_number("cuda_major")))
    return tuple(found)


def _per_os(row: Fields) -> dict[str, str]:
    found = {}
    for os in ("linux", "windows"):
        text = row.maybe_text(os)
        if text is not None:
            dotted(text, row.at(os))
            found[os] = text
    return found


def _capability(text: str, path: str) -> tuple[int, int]:
    if not is_dotted(text) or text.count(".") != 1:
        raise ShapeError(path, f"must be a capability such as 8.6, is {text!r}")
    major, minor = numbers(text)
    return major, minor
