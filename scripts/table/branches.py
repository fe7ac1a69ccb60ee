"""evidence/branches.json → what compat/drivers.json says of driver branches and of the GPUs that each supports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.table import layout
from torchpick.model.versions import numbers

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "evidence" / "branches.json"
Row = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Write the sections of drivers.json that this evidence decides; the rest of the file stays."""
    path = (Path(words[0]) if words else ROOT / "compat") / "drivers.json"
    layout.write(path, {**layout.read(path), **sections(layout.read(EVIDENCE))})
    return 0


def sections(evidence: Row) -> Row:
    """`branches`, `last_branch` and `first_driver` of drivers.json."""
    pairs = [(row["linux"], row["windows"], row["source"]) for row in evidence["pairs"]]
    return {
        "branches": [_branch(row, pairs) for row in evidence["branches"]],
        "last_branch": evidence["last_branch"],
        "first_driver": evidence["first_driver"],
    }


def _branch(row: Row, pairs: list[tuple[str, str, str]]) -> Row:
    """A branch with the pairs of Linux and Windows numbers that were seen of it; each must agree with its numbers."""
    number, last = row["branch"], row["windows_last"]
    mine = [(linux, windows, source) for linux, windows, source in pairs if numbers(linux)[0] == number]
    for linux, windows, _ in mine:
        if not number <= numbers(windows)[0] <= last:
            raise ValueError(f"windows_last of branch {number} contradicts the pair {linux}/{windows}")
    seen = f"; Windows numbers: {'; '.join(f'{linux} is {windows} ({source})' for linux, windows, source in mine)}"
    basis = seen if mine else "; Windows numbers: by the drivers that NVIDIA names for its toolkits"
    return {
        "branch": number,
        "cuda": row["cuda"],
        "windows_last": last,
        "windows_basis": row["windows_basis"],
        "source": row["source"] + basis,
        "confidence": row["confidence"],
    }
