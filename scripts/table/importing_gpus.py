"""evidence/gpus/ → gpus.json, amd.json, intel.json, apple.json, and the AMD targets of each ROCm build."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.table import gpus, layout, other_gpus

ROOT = Path(__file__).parents[2]
COMPAT, EVIDENCE = ROOT / "compat", ROOT / "evidence" / "gpus"
Row = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Write what compat/ says of GPUs anew from the sources recorded under evidence/."""
    write_all(EVIDENCE, Path(words[0]) if words else COMPAT)
    return 0


def write_all(evidence: Path, compat: Path) -> None:
    """Every file, and every row of a ROCm build."""
    for name, value in files(evidence).items():
        layout.write(compat / name, value)
    targets = targets_of(layout.read(evidence / "amd-intel-apple.json"))
    for path in sorted(compat.glob("torch-*.json")):
        release: Row = json.loads(path.read_text(encoding="utf-8"))
        for row in release["builds"]:
            apply(row, release["torch"], targets)
        layout.write(path, release)
    print(f"gpus.json, amd.json, intel.json, apple.json and {len(targets)} ROCm builds → {compat}", file=sys.stderr)


def files(evidence: Path) -> dict[str, Row]:
    """The files that hold nothing else."""
    others = layout.read(evidence / "amd-intel-apple.json")
    nvidia, reported = layout.read(evidence / "nvidia.json"), layout.read(evidence / "nvidia-reported.json")
    return {
        "gpus.json": gpus.readable(nvidia, reported),
        "amd.json": other_gpus.amd(others),
        "intel.json": other_gpus.intel(others),
        "apple.json": other_gpus.apple(others),
    }


def targets_of(facts: Row) -> dict[tuple[str, str], Row]:
    """Release and backend → the AMD targets of that build, and what says so."""
    sources = facts["sources"]
    found: dict[tuple[str, str], Row] = {}
    for row in facts["wheel_host_builds"]:
        source = row["source"]
        why = f"{row['basis']} ({sources.get(source, source)})"
        found[row["torch"], row["backend"]] = {
            "arches": row["gfx"],
            "confidence": row["confidence"],
            "why": why,
        }
    return found


def apply(row: Row, torch: str, targets: dict[tuple[str, str], Row]) -> None:
    """Set the targets of a ROCm build that nobody measured."""
    told = targets.get((torch, row["backend"]))
    if told is None or row["evidence"]["kind"] == "measured":
        return
    _, _, wheel = row["evidence"]["ref"].rpartition("wheel: ")
    # A list that only a default of the time suggests is not known well enough to promise anything.
    row["arches"] = None if told["confidence"] == "low" else told["arches"]
    row["evidence"]["ref"] = f"arches: {told['why']}; wheel: {wheel}"
    ranks = ("unknown", "low", "medium", "high", "certain")
    existence = row["evidence"]["confidence"]
    row["evidence"]["confidence"] = min(told["confidence"], existence, key=ranks.index)
