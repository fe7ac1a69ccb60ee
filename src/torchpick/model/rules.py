"""The rules of drivers.json and libraries.json → what a judgement asks of them. Pure, as model.rows."""

from __future__ import annotations

from torchpick.model.drivers import DriverTable
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.libraries import Floor, LibraryFloors
from torchpick.model.pairings import released
from torchpick.model.rows import dotted, read_arches
from torchpick.model.table import Table
from torchpick.model.versions import is_dotted, numbers


def rules(drivers_: Fields, libraries: Fields, gpus: Fields) -> Table:
    """The rules of drivers.json and libraries.json and the capabilities of the names index; no builds yet."""
    return Table({}, drivers(drivers_), floors(libraries), frozenset(gpus.texts("capabilities")))


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
    native = []
    for row in fields.objects("native"):
        dotted(row.text("cuda"), row.at("cuda"))
        native.append((row.number("branch"), row.text("cuda")))
    if not native:
        raise fields.fail("native", "must not be empty")
    return DriverTable(
        toolkits=toolkits,
        majors={row.number("cuda_major"): _per_os(row) for row in fields.objects("majors")},
        native=tuple(sorted(native)),
        last_branch=last,
        first_driver=first,
        unified_tegra=fields.object("unified_tegra").text("linux"),
        generations=_generations(fields),
    )


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


def triton_floors(fields: Fields) -> list[tuple[str, tuple[int, int]]]:
    """The floors of triton that are sure: from this version on, at least this capability."""
    found = []
    for row in fields.objects("triton"):
        released(row.text("from"), row.at("from"))
        floor = _capability(row.text("floor"), row.at("floor"))
        if row.text("confidence") == "high":
            found.append((row.text("from"), floor))
    return found


def _floors(fields: Fields, library: str) -> tuple[Floor, ...]:
    found = []
    for row in fields.objects(library):
        dotted(row.text("from"), row.at("from"))
        major = row.number("cuda_major") if row.has("cuda_major") else None
        found.append(Floor(row.text("from"), _capability(row.text("floor"), row.at("floor")), major))
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
