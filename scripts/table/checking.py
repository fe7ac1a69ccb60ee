"""Whether every file of compat/ is of its format, exactly; compat/README.md says the same in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.table import build_format, fact_format
from scripts.table.forms import holds, one_of
from scripts.table.layout import PLATFORMS
from torchpick.errors import CompatError
from torchpick.model import rows, rules
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.gpunames import Names
from torchpick.model.pciids import PciIds

COMPAT = Path(__file__).parents[2] / "compat"
MOST_BYTES = 16 << 20
_HINT = "compat/README.md describes the format"


def main(words: Sequence[str]) -> int:
    """Check a compat folder; each fault on a line of its own."""
    faults = check(Path(words[0]) if words else COMPAT)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def check(compat: Path) -> list[CompatError]:
    """The first fault of each file, in the order of their names."""
    paths = sorted(path for path in compat.rglob("*") if path.is_file() and path.name != "README.md")
    read = [_fault(path, path.relative_to(compat).as_posix()) for path in paths]
    faults = [fault for fault in read if fault is not None]
    missing = [name for name in (*FILES, *INDEXES) if compat / name not in paths]
    return faults + [CompatError("is missing", file=name, path="", hint=_HINT) for name in missing]


def _fault(path: Path, name: str) -> CompatError | None:
    try:
        check_file(path, name)
    except CompatError as fault:
        return fault
    return None


def check_file(path: Path, name: str) -> None:
    """Check one file as the kind that its name says; raises CompatError with the place of the fault."""
    try:
        _read(path, name)
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=name, path="", hint=_HINT) from error
    except ShapeError as error:
        raise CompatError(error.message, file=name, path=error.path, hint=_HINT) from error


def _read(path: Path, name: str) -> None:
    check_kind = _kind_of(name)
    if path.stat().st_size > MOST_BYTES:
        raise ShapeError("", f"is larger than {MOST_BYTES >> 20} MiB")
    fields = Fields(loads(path.read_bytes()))
    if fields.number("schema") != 1:
        raise fields.fail("schema", f"must be 1, is {fields.number('schema')}")
    check_kind(fields)
    if match := re.fullmatch(r"torch-(.+)\.json", name):
        holds(fields, "torch", fields.text("torch") == match[1], "must be the release that the file is named after")


def _kind_of(name: str) -> Callable[[Fields], None]:
    if name.startswith("torch-"):
        return build_format.release
    if name in FILES:
        return FILES[name]
    if name in INDEXES:
        return INDEXES[name]
    raise ShapeError("", "is no file of this table")


def platform_index(fields: Fields) -> None:
    """The shape alone: a test holds the content to the readable files."""
    fields.only("schema", "platform", "arch_sets", "python_sets", "refs", "builds")
    one_of(fields, "platform", PLATFORMS)
    sets = (len(fields.items("arch_sets")), len(fields.items("python_sets")), len(fields.texts("refs")))
    for place, row in enumerate(fields.items("builds")):
        path = f"builds[{place}]"
        if not isinstance(row, list) or len(row) != len(rows.INDEX_COLUMNS):
            raise ShapeError(path, f"must be a list of {len(rows.INDEX_COLUMNS)}")
        for column, many in zip((4, 5, 15), sets, strict=True):
            if not isinstance(row[column], int) or not 0 <= row[column] < many:
                raise ShapeError(f"{path}[{column}]", "names a place that is not there")


def rules_index(fields: Fields) -> None:
    rules.drivers(fields)
    rules.floors(fields)


def names_index(fields: Fields) -> None:
    keys = ("capabilities", "full", "core", "products", "product_capabilities", "pci_ranges", "pci_devices")
    fields.only("schema", *keys)
    names = Names.from_json(fields)
    for name, table in (("full", names.full), ("core", names.core)):
        for key, value in table.items():
            if not isinstance(value, str):
                raise ShapeError(f"{name}.{key}", "must be text")
    PciIds.from_json(fields)


FILES: dict[str, Callable[[Fields], None]] = {
    "companions.json": build_format.companions,
    "drivers.json": fact_format.drivers,
    "errors.json": fact_format.errors,
    "family.json": fact_format.family,
    "gpus.json": fact_format.gpus,
    "libraries.json": fact_format.libraries,
    "never.json": build_format.never,
}
INDEXES: dict[str, Callable[[Fields], None]] = {
    **{f"index/{platform}.json": platform_index for platform in PLATFORMS},
    "index/gpus.json": names_index,
    "index/rules.json": rules_index,
}
