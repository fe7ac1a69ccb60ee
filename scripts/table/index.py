"""The readable files of compat/ → compact indexes, one per platform, that a decision loads in a few milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.table import layout, names
from scripts.table.layout import PLATFORMS
from torchpick.model import pairings, rules
from torchpick.model.fields import Fields
from torchpick.model.versions import release_key

COMPAT = Path(__file__).parents[2] / "compat"
Row = dict[str, object]

DRIVER_RULES = ("toolkits", "majors", "native", "last_branch", "first_driver", "unified_tegra")
FLOORS = ("cudnn", "nccl")
ABOUT = ("source", "confidence", "note", "generation")


class Pool:
    """Values that many rows share, each kept once; a row names its place."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def place(self, value: object) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def main(words: Sequence[str]) -> int:
    """Write compat/index/ anew from the readable files."""
    compat = Path(words[0]) if words else COMPAT
    for name, value in indexes(compat).items():
        layout.write_compact(compat / "index" / name, value)
        print(f"{name}: {(compat / 'index' / name).stat().st_size} bytes", file=sys.stderr)
    return 0


def indexes(compat: Path) -> dict[str, Row]:
    """Every index file by its name, as the readable files say."""
    releases = [Fields(layout.read(path), path.name) for path in compat.glob("torch-*.json")]
    releases.sort(key=lambda release: release_key(release.text("torch")), reverse=True)
    companions = pairings.companions(Fields(layout.read(compat / "companions.json"), "companions.json"))
    gpus, drivers = (Fields(layout.read(compat / name), name) for name in ("gpus.json", "drivers.json"))
    found = {f"{platform}.json": _platform(platform, releases, companions) for platform in PLATFORMS}
    named = names.index(gpus, drivers)
    return {**found, "rules.json": {**_rules(compat), "capabilities": named["capabilities"]}, "gpus.json": named}


def _rules(compat: Path) -> Row:
    """Drivers and library floors without their sources: what a decision reads of them."""
    found: Row = {"schema": 1}
    for name, kept in (("drivers.json", DRIVER_RULES), ("libraries.json", FLOORS)):
        value = layout.read(compat / name)
        if not isinstance(value, dict):
            raise TypeError(name)
        found.update({key: _bare(value[key]) for key in kept})
    found["toolkit_arches"] = [
        {"cuda": cuda, "majors": sorted({str(major) for major in majors}, key=int)}
        for cuda, majors in rules.drivers(Fields(layout.read(compat / "drivers.json"))).generations
    ]
    return found


def _bare(value: object) -> object:
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if key not in ABOUT}
    return value


def _platform(platform: str, releases: list[Fields], companions: pairings.Companions) -> Row:
    arch_sets, python_sets, refs = Pool(), Pool(), Pool()
    builds: list[list[object]] = []
    for release in releases:
        torch = release.text("torch")
        for build in release.objects("builds"):
            # The default index's own wheels are never picked; whoever needs them reads the readable files.
            if build.text("platform") != platform or build.text("backend") == "default":
                continue
            evidence = build.object("evidence")
            twin = evidence.maybe_object("twin")
            _, plus, local = build.text("version").partition("+")
            paired, basis = companions(torch, build.text("backend"), platform, plus + local)
            builds.append(
                [
                    torch,
                    build.text("backend"),
                    build.text("version"),
                    build.maybe_text("cuda"),
                    arch_sets.place(build.raw("arches")),
                    python_sets.place(build.raw("pythons")),
                    build.raw("tags"),
                    build.maybe_text("glibc"),
                    build.raw("libraries"),
                    build.raw("lacks"),
                    build.maybe_flag("published"),
                    build.flag("yanked"),
                    paired,
                    basis,
                    evidence.text("kind"),
                    refs.place(evidence.text("ref")),
                    None if twin is None else [twin.text("file"), twin.text("sha256")],
                ]
            )
    return {
        "schema": 1,
        "platform": platform,
        "arch_sets": arch_sets.values,
        "python_sets": python_sets.values,
        "refs": refs.values,
        "builds": builds,
    }
