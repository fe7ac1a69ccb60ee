"""The readable files of compat/ → compact indexes, one per platform, that a decision loads in a few milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.table import layout, names, other_gpus, pairings, release_files, strict_rules, vendors
from scripts.table.layout import PLATFORMS
from torchpick.knowledge import refreshed
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.fields import Fields

COMPAT = Path(__file__).parents[2] / "compat"
EVIDENCE = Path(__file__).parents[2] / "evidence"
Row = dict[str, object]

DRIVER_RULES = ("toolkits", "majors", "branches", "last_branch", "first_driver", "unified_tegra")
FLOORS = ("cudnn", "nccl")
AMD_RULES = ("rocblas", "overrides")
ABOUT = ("source", "confidence", "note", "generation", "what", "windows_basis")


def main(words: Sequence[str]) -> int:
    """Write compat/index/ anew from the readable files, and the day of the newest evidence that they rest on."""
    compat = Path(words[0]) if words else COMPAT
    layout.write(compat / "date.json", {"schema": 1, "date": newest(EVIDENCE)})
    for name, value in indexes(compat).items():
        layout.write_compact(compat / "index" / name, value)
        print(f"{name}: {(compat / 'index' / name).stat().st_size} bytes", file=sys.stderr)
    return 0


def newest(evidence: Path) -> str:
    """The day of the newest evidence, as the files themselves and dates.json say; never the clock's."""
    read = Fields(layout.read(evidence / "dates.json")).object("read")
    days = [read.text(name) for name in read.names()]
    days += [Fields(layout.read(evidence / name)).text("date") for name in ("branches.json", "companions.json")]
    return max(days)


def indexes(compat: Path) -> dict[str, Row]:
    """Every index file by its name, as the readable files say."""
    companions = pairings.companions(Fields(layout.read(compat / "companions.json"), "companions.json"))
    gpus, drivers = (Fields(layout.read(compat / name), name) for name in ("gpus.json", "drivers.json"))
    files = [Fields(layout.read(path), path.name) for path in sorted(compat.glob("torch-*.json"))]
    every = [build for file in files for build in release_files.builds(file, companions)]
    every += vendors.builds(Fields(layout.read(compat / "vendors.json"), "vendors.json"))
    found: dict[str, Row] = {}
    for platform in PLATFORMS:
        own = [build for build in every if build.platform == platform]
        found[f"{platform}.json"] = refreshed.index(platform, [each for each in own if each.backend != DEFAULT_INDEX])
        # The default index's own wheels are in a file of their own: most questions are not about them.
        default = [each for each in own if each.backend == DEFAULT_INDEX]
        found[f"default-{platform}.json"] = refreshed.index(platform, default)
    named = names.index(gpus, drivers)
    others = [Fields(layout.read(compat / name), name) for name in ("amd.json", "intel.json", "apple.json")]
    return {
        **found,
        "rules.json": {**_rules(compat), "capabilities": named["capabilities"]},
        "gpus.json": named,
        "others.json": other_gpus.index(*others),
    }


def _rules(compat: Path) -> Row:
    """Drivers and library floors without their sources: what a decision reads of them."""
    found: Row = {"schema": 1, "date": Fields(layout.read(compat / "date.json")).text("date")}
    files = {"drivers.json": DRIVER_RULES, "libraries.json": FLOORS, "amd.json": AMD_RULES, "apple.json": ("mps",)}
    for name, kept in files.items():
        value = layout.read(compat / name)
        if not isinstance(value, dict):
            raise TypeError(name)
        found.update({key: _bare(value[key]) for key in kept})
    # A toolkit's updates have the same driver as its first release or a newer one, which no rule asks for.
    found["toolkits"] = [
        {key: row.raw(key) for key in ("cuda", "linux", "windows") if row.maybe_text(key) is not None}
        for row in Fields(found).objects("toolkits")
        if row.maybe_text("update") is None
    ]
    found["toolkit_arches"] = [
        {"cuda": cuda, "majors": sorted({str(major) for major in majors}, key=int)}
        for cuda, majors in strict_rules.generations(Fields(layout.read(compat / "drivers.json")))
    ]
    kinds = Fields(layout.read(compat / "kinds.json")).objects("kinds")
    excluded: dict[str, list[str]] = {}
    for row in Fields(layout.read(compat / "companions.json")).objects("files"):
        for python in row.texts("excluded") if row.has("excluded") else ():
            excluded.setdefault(python, []).append(f"{row.text('name')} {row.text('version')}")
    found["excluded"] = excluded
    found["kinds"] = [[row.raw(key) for key in ("arch", "generation", "examples", "platforms")] for row in kinds]
    return found


def _bare(value: object) -> object:
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if key not in ABOUT}
    return value
