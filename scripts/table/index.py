"""The readable files of compat/ → compact indexes, one per platform, that a decision loads in a few milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.table import layout, names, other_gpus, rows
from scripts.table.layout import PLATFORMS
from torchpick.knowledge import refreshed
from torchpick.knowledge.indexes import arches_of
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.versions import numbers

COMPAT = Path(__file__).parents[2] / "compat"
EVIDENCE = Path(__file__).parents[2] / "evidence"
Row = dict[str, Any]

DRIVER_RULES = ("toolkits", "majors", "branches", "last_branch", "first_driver", "unified_tegra")
LIBRARIES = ("cudnn", "nccl", "brought")
AMD_RULES = ("rocblas", "overrides")
ABOUT = ("source", "confidence", "note", "generation", "what", "windows_basis")


def main(words: Sequence[str]) -> int:
    """Write compat/index/ anew from the readable files, and the day of the newest evidence that they rest on."""
    renew(Path(words[0]) if words else COMPAT, EVIDENCE)
    return 0


def renew(compat: Path, evidence: Path) -> None:
    """Both, of the evidence in this folder."""
    layout.write(compat / "date.json", {"schema": 1, "date": newest(evidence)})
    write(compat)


def write(compat: Path) -> None:
    """Write what has changed of compat/index/; a package is built with it, and no checkout holds it."""
    for name, value in indexes(compat).items():
        layout.write_compact(compat / "index" / name, value)


def newest(evidence: Path) -> str:
    """The day of the newest evidence, as the files themselves and dates.json say; never the clock's."""
    read = layout.read(evidence / "dates.json")["read"]
    days = [*read.values()]
    days += [layout.read(evidence / name)["date"] for name in ("branches.json", "companions.json")]
    return str(max(days))


def indexes(compat: Path) -> dict[str, Row]:
    """Every index file by its name, as the readable files say."""
    companions = rows.Companions(layout.read(compat / "companions.json"))
    gpus, drivers = (layout.read(compat / name) for name in ("gpus.json", "drivers.json"))
    releases = map(layout.read, sorted(compat.glob("torch-*.json")))
    every = [build for release in releases for build in rows.of_release(release, companions)]
    every += rows.of_vendors(layout.read(compat / "vendors.json"))
    found: dict[str, Row] = {}
    for platform in PLATFORMS:
        own = [build for build in every if build.platform == platform]
        found[f"{platform}.json"] = refreshed.index(platform, [each for each in own if each.backend != DEFAULT_INDEX])
        # The default index's own wheels are in a file of their own: most questions are not about them.
        default = [each for each in own if each.backend == DEFAULT_INDEX]
        found[f"default-{platform}.json"] = refreshed.index(platform, default)
    named = names.index(gpus, drivers)
    others = [layout.read(compat / name) for name in ("amd.json", "intel.json", "apple.json")]
    return {
        **found,
        "rules.json": {**_rules(compat, drivers), "capabilities": named["capabilities"]},
        "gpus.json": named,
        "others.json": other_gpus.index(*others),
    }


def _rules(compat: Path, drivers: Row) -> Row:
    """Drivers and library floors without their sources: what a decision reads of them."""
    found: Row = {"schema": 1, "date": layout.read(compat / "date.json")["date"]}
    files = {"drivers.json": DRIVER_RULES, "libraries.json": LIBRARIES, "amd.json": AMD_RULES, "apple.json": ("mps",)}
    for name, kept in files.items():
        value = layout.read(compat / name)
        found.update({key: _bare(value[key]) for key in kept})
    # A toolkit's updates have the same driver as its first release or a newer one, which no rule asks for.
    found["toolkits"] = [
        {key: row[key] for key in ("cuda", "linux", "windows") if row[key] is not None}
        for row in found["toolkits"]
        if row["update"] is None
    ]
    found["toolkit_arches"] = [
        {
            "cuda": row["cuda"],
            "majors": [str(major) for major in sorted({arch.capability[0] for arch in arches_of(row["arches"])})],
        }
        for row in sorted(drivers["toolkit_arches"], key=lambda row: numbers(row["cuda"]))
    ]
    kinds = layout.read(compat / "kinds.json")["kinds"]
    excluded: dict[str, list[str]] = {}
    for row in layout.read(compat / "companions.json")["files"]:
        for python in row.get("excluded", ()):
            excluded.setdefault(python, []).append(f"{row['name']} {row['version']}")
    found["excluded"] = excluded
    found["kinds"] = [[row[key] for key in ("arch", "generation", "examples", "platforms")] for row in kinds]
    return found


def _bare(value: object) -> object:
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if key not in ABOUT}
    return value
