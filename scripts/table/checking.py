"""Whether every file of compat/ is of its format, exactly; compat/README.md says the same in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.table import (
    build_format,
    fact_format,
    gpu_format,
    package_format,
    shared_files,
    strict_rules,
    torch_requires,
    vendors,
)
from scripts.table.forms import CAPABILITY, holds, matching, one_of, only
from scripts.table.layout import PLATFORMS
from torchpick.errors import CompatError
from torchpick.knowledge import othernames
from torchpick.knowledge.gpuindex import Names
from torchpick.knowledge.gpunames import Candidates
from torchpick.knowledge.othernames import OtherNames
from torchpick.model.fields import Fields, ShapeError, loads

COMPAT = Path(__file__).parents[2] / "compat"
MOST_BYTES = 16 << 20
_HINT = "compat/README.md describes the format"
# How many columns a row of an index has.
_COLUMNS = 19


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
    if match := re.fullmatch(r"packages/(.+)\.json", name):
        holds(fields, "name", fields.text("name") == match[1], "must be the package that the file is named after")
    if match := re.fullmatch(r"torch-(.+)\.json", name):
        holds(fields, "torch", fields.text("torch") == match[1], "must be the release that the file is named after")


def _kind_of(name: str) -> Callable[[Fields], None]:
    if name.startswith("torch-"):
        return build_format.release
    if name.startswith("packages/"):
        return package_format.package
    if name in FILES:
        return FILES[name]
    if name in INDEXES:
        return INDEXES[name]
    raise ShapeError("", "is no file of this table")


def platform_index(fields: Fields) -> None:
    """The shape alone: a test holds the content to the readable files."""
    shared_lists = ("arch_sets", "python_sets", "refs", "bases", "companion_pythons", "vendors")
    only(fields, "schema", "platform", *shared_lists, "builds")
    one_of(fields, "platform", PLATFORMS)
    shared = ("arch_sets", "python_sets", "bases", "companion_pythons", "refs")
    sets = tuple(len(fields.items(name)) for name in shared)
    for place, row in enumerate(fields.items("builds")):
        path = f"builds[{place}]"
        if not isinstance(row, list) or len(row) != _COLUMNS:
            raise ShapeError(path, f"must be a list of {_COLUMNS}")
        for column, many in zip((4, 5, 13, 14, 16), sets, strict=True):
            if not isinstance(row[column], int) or not 0 <= row[column] < many:
                raise ShapeError(f"{path}[{column}]", "names a place that is not there")


def files(fields: Fields) -> None:
    only(fields, "schema", "files")
    for backend in (found := fields.object("files")).names():
        for file in (mine := found.object(backend)).names():
            holds(mine, file, file.endswith(".whl"), "is no wheel")
            matching(mine, file, re.compile("[0-9a-f]{64}"))


def table_date(fields: Fields) -> None:
    only(fields, "schema", "date")
    strict_rules.released_on(fields, "date")


def rules_index(fields: Fields) -> None:
    strict_rules.released_on(fields, "date")
    strict_rules.drivers(fields)
    strict_rules.floors(fields)
    strict_rules.amd(fields)
    strict_rules.mps(fields)


def others_index(fields: Fields) -> None:
    """Every name and every PCI id finds its GPU."""
    names = OtherNames.from_json(fields)
    for text in (*names.amd_products, *names.intel_products, *names.apple_chips):
        if isinstance(othernames.look_up(text, names), Candidates):
            raise ShapeError("", f"{text!r} is listed and not found")
    for device in names.amd_pci:
        names.amd_device(int(device, 16))
    for device in names.intel_pci:
        names.intel_device(int(device, 16))


def names_index(fields: Fields) -> None:
    keys = ("capabilities", "full", "core", "products", "product_capabilities", "pci_ranges", "pci_devices")
    only(fields, "schema", *keys, "sold_most", "mig", "arm_only")
    many = len(fields.texts("products"))
    holds(fields, "product_capabilities", len(fields.texts("product_capabilities")) == many, f"must have {many} items")
    names = Names.from_json(fields)
    for name, table in (("full", names.full), ("core", names.core)):
        for key, value in table.items():
            if not isinstance(value, str):
                raise ShapeError(f"{name}.{key}", "must be text")
    for place, row in enumerate(fields.items("pci_ranges")):
        parts = row if isinstance(row, list) else []
        if [type(part) for part in parts] != [int, int, str] or not CAPABILITY.fullmatch(parts[2]):
            raise ShapeError(f"pci_ranges[{place}]", "must be first id, last id, capability")
    devices = fields.object("pci_devices")
    for device in devices.names():
        holds(devices, device, bool(re.fullmatch("[0-9a-f]{4}", device)), "is not a device id")
        if devices.maybe_text(device) is not None:
            matching(devices, device, CAPABILITY)


FILES: dict[str, Callable[[Fields], None]] = {
    "amd.json": gpu_format.amd,
    "apple.json": gpu_format.apple,
    "companions.json": build_format.companions,
    "date.json": table_date,
    "drivers.json": fact_format.drivers,
    "errors.json": fact_format.errors,
    "family.json": fact_format.family,
    "files.json": files,
    "gpus.json": gpu_format.nvidia,
    "intel.json": gpu_format.intel,
    "kinds.json": gpu_format.kinds,
    "libraries.json": fact_format.libraries,
    "never.json": build_format.never,
    "requires.json": torch_requires.check,
    "shared-files.json": shared_files.check,
    "vendors.json": vendors.check,
    "words.json": fact_format.words,
}
INDEXES: dict[str, Callable[[Fields], None]] = {
    **{f"index/{platform}.json": platform_index for platform in PLATFORMS},
    **{f"index/default-{platform}.json": platform_index for platform in PLATFORMS},
    "index/gpus.json": names_index,
    "index/others.json": others_index,
    "index/rules.json": rules_index,
}
