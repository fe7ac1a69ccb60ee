"""A folder of collected facts (wheels.json, drivers.json) → the readable files of compat/; GPUs have importing_gpus."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.table import builds, importing_gpus, layout, rules
from torchpick.model.fields import Fields

COMPAT = Path(__file__).parents[2] / "compat"
_USAGE = "usage: scripts/import-facts FACTS [COMPAT]    (FACTS holds wheels.json and drivers.json)"


def main(words: Sequence[str]) -> int:
    """Write compat/ anew from the facts folder named first."""
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        write_all(Path(words[0]), Path(words[1]) if len(words) == 2 else COMPAT)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def write_all(facts: Path, compat: Path) -> None:
    """Every file that comes from the facts; ShapeError names the fact that is wrong."""
    wheels = Fields({"wheels.json": layout.read(facts / "wheels.json")}).objects("wheels.json")
    releases = builds.releases(wheels)
    for release, rows in releases.items():
        layout.write(compat / f"torch-{release}.json", {"schema": 1, "torch": release, "builds": rows})
    layout.write(compat / "never.json", {"schema": 1, "rows": builds.never(wheels)})
    layout.write(compat / "drivers.json", rules.drivers(Fields(layout.read(facts / "drivers.json"), "drivers.json")))
    layout.write(compat / "libraries.json", rules.LIBRARIES)
    layout.write(compat / "family.json", rules.FAMILY)
    importing_gpus.write_all(importing_gpus.EVIDENCE, compat)
    print(f"{len(releases)} releases, {sum(map(len, releases.values()))} builds → {compat}", file=sys.stderr)
