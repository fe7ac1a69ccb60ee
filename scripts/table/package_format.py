"""The format of compat/packages/NAME.json, each value checked: every fault is a ShapeError with its path. Pure."""

from __future__ import annotations

from scripts.table.forms import only
from scripts.table.strict_rows import read_arches
from torchpick.model.build import Evidence
from torchpick.model.fields import Fields, ShapeError, read
from torchpick.model.package import OtherIndex, Package, PackageFacts, Stage, WheelRule
from torchpick.model.versions import parsed


def package(fields: Fields) -> None:
    """One file."""
    only(fields, "schema", *PackageFacts._fields)
    versions = tuple(_version(row, fields.text("name")) for row in fields.objects("versions"))
    elsewhere = tuple(_place(row) for row in fields.maybe_objects("elsewhere"))
    if fields.has("rule"):
        rule = fields.object("rule")
        only(rule, *WheelRule._fields)
        read(WheelRule, rule, most=None)
    read(PackageFacts, fields, most=None, versions=versions, elsewhere=elsewhere, rule=WheelRule())


def _place(row: Fields) -> OtherIndex:
    majors = tuple(row.items("cuda")) if row.has("cuda") else ()
    if not all(type(major) is int for major in majors):
        raise row.fail("cuda", "must hold CUDA majors")
    wheels = tuple(row.items("wheels")) if row.has("wheels") else ()
    for wheel in wheels:
        if not isinstance(wheel, list) or {type(part) for part in wheel} != {str} or len(wheel) not in (5, 6, 7):
            raise row.fail(
                "wheels", "must hold version, platform, requirements, backends, Pythons; file, architectures"
            )
        read_arches(tuple("".join(wheel[6:]).split()), row.at("wheels"))
    return read(OtherIndex, row, most=None, cuda=majors, wheels=wheels)


def _version(row: Fields, name: str) -> Package:
    evidence = row.object("evidence")
    kind, ref = evidence.text("kind"), evidence.text("ref")
    if kind not in ("measured", "declared"):
        raise evidence.fail("kind", f"must be measured or declared, is {kind!r}")
    if kind == "measured" and name != "torch" and (row.lacks("file") or row.lacks("sha256")):
        raise evidence.fail("kind", "must be declared where no file with its sha256 was read")
    if row.has("windows"):
        windows = row.object("windows")
        only(windows, "file", "sha256", "pythons", "code", "evidence", "cuda", "needs")
        windows.text("file"), windows.text("sha256"), windows.texts("pythons"), windows.object("evidence")
        _code(windows)
    row.maybe_dotted("glibc")
    row.maybe_dotted("cuda")
    _code(row)
    for text in row.texts("requires"):
        try:
            parsed(text)
        except ValueError as error:
            raise ShapeError(row.at("requires"), f"must hold requirements: {text!r}") from error
    rare = {key: row.flag(key) if row.has(key) else False for key in ("minor_fallback", "optional")}
    jit = row.text("jit") if row.has("jit") else None
    if jit:
        read_arches((jit,), row.at("jit"))
    read_whole = {"stage": Stage.READ, "undescribed": "", "guessed": False}
    known = {"name": name, "place": "", "code": None, "evidence": Evidence(kind, ref), "jit": jit, **rare, **read_whole}
    return read(Package, row, most=None, strict=True, **known)


def _code(row: Fields) -> None:
    for library in row.objects("code") if row.raw("code") is not None else ():
        library.text("path")
        library.flag("main")
        library.has("whole") and library.flag("whole")
        library.maybe_dotted("cuda")
        read_arches(tuple(library.text("arches").split()), library.at("arches"))
