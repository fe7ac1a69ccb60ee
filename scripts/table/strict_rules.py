"""The rules of drivers.json, libraries.json, amd.json and apple.json, each value checked: every fault has its path."""

from __future__ import annotations

from scripts.table.forms import is_day
from scripts.table.strict_rows import dotted, read_arches, released
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.versions import is_dotted, numbers


def amd(fields: Fields) -> None:
    """What amd.json says of rocBLAS and overrides."""
    for row in fields.objects("rocblas"):
        dotted(row.text("from"), row.at("from"))
        dotted(row.maybe_text("before"), row.at("before"))
        read_arches(row.texts("lacks"), row.at("lacks"))
    for row in fields.objects("overrides"):
        version = row.text("as")
        if not is_dotted(version) or version.count(".") != 2:  # major, minor, step
            raise row.fail("as", f"must be such as 10.3.0, is {version!r}")
        read_arches(row.texts("targets"), row.at("targets"))
        row.flag("works")
        row.text("why")


def mps(fields: Fields) -> None:
    """From which macOS on each release reaches an Apple GPU."""
    for row in fields.objects("mps"):
        released(row.text("from"), row.at("from"))
        dotted(row.text("macos"), row.at("macos"))


def released_on(fields: Fields, name: str) -> str:
    """A day such as 2026-11-22."""
    text = fields.text(name)
    if not is_day(text):
        raise fields.fail(name, f"must be a day such as 2026-11-22, is {text[:40]!r}")
    return text


def drivers(fields: Fields) -> None:
    """The rules of drivers.json."""
    for row in fields.objects("toolkits"):
        row.text("cuda")
        row.maybe_text("update")
        _per_os(row)
    for row in fields.objects("last_branch"):
        row.number("branch")
        _capabilities(row)
    for row in fields.objects("first_driver"):
        _per_os(row)
        _capabilities(row)
    for row in fields.objects("majors"):
        row.number("cuda_major")
        _per_os(row)
    branches = fields.objects("branches")
    for row in branches:
        _branch(row)
    if not branches:
        raise fields.fail("branches", "must not be empty")
    fields.object("unified_tegra").text("linux")
    generations(fields)


def _branch(row: Fields) -> None:
    number, last = row.number("branch"), row.number("windows_last")
    dotted(row.text("cuda"), row.at("cuda"))
    if last < number:
        raise row.fail("windows_last", f"must not be below {number}, is {last}")


def generations(fields: Fields) -> tuple[tuple[str, frozenset[int]], ...]:
    """CUDA → the major capabilities its toolkit compiles for; the index holds no more of toolkit_arches than that."""
    found = []
    for row in fields.objects("toolkit_arches"):
        dotted(row.text("cuda"), row.at("cuda"))
        names = row.texts("arches") if row.has("arches") else tuple(f"sm_{major}0" for major in row.texts("majors"))
        found.append((row.text("cuda"), frozenset(arch.capability[0] for arch in read_arches(names, row.at("arches")))))
    return tuple(sorted(found, key=lambda each: numbers(each[0])))


def floors(fields: Fields) -> None:
    """The floors of libraries.json."""
    for library in ("cudnn", "nccl"):
        for row in fields.objects(library):
            dotted(row.text("from"), row.at("from"))
            row.maybe_number("cuda_major")
            _capability(row.text("floor"), row.at("floor"))


def _per_os(row: Fields) -> None:
    for os in ("linux", "windows"):
        dotted(row.maybe_text(os), row.at(os))


def _capabilities(row: Fields) -> None:
    for text in row.texts("capabilities"):
        _capability(text, row.at("capabilities"))


def _capability(text: str, path: str) -> None:
    if not is_dotted(text) or text.count(".") != 1:
        raise ShapeError(path, f"must be a capability such as 8.6, is {text!r}")
