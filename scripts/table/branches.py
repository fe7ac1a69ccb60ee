"""evidence/branches.json → what compat/drivers.json says of driver branches and of the GPUs that each supports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scripts.table import layout
from torchpick.model.fields import Fields
from torchpick.model.versions import numbers

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "evidence" / "branches.json"
Row = dict[str, object]


def main(words: Sequence[str]) -> int:
    """Write the sections of drivers.json that this evidence decides; the rest of the file stays."""
    path = (Path(words[0]) if words else ROOT / "compat") / "drivers.json"
    drivers = layout.read(path)
    if not isinstance(drivers, dict):
        raise TypeError(path.name)
    layout.write(path, {**drivers, **sections(Fields(layout.read(EVIDENCE), EVIDENCE.name))})
    return 0


def sections(evidence: Fields) -> Row:
    """`branches`, `last_branch` and `first_driver` of drivers.json."""
    pairs = [(row.text("linux"), row.text("windows"), row.text("source")) for row in evidence.objects("pairs")]
    return {
        "branches": [_branch(row, pairs) for row in evidence.objects("branches")],
        "last_branch": evidence.raw("last_branch"),
        "first_driver": evidence.raw("first_driver"),
    }


def _branch(row: Fields, pairs: list[tuple[str, str, str]]) -> Row:
    """A branch with the pairs of Linux and Windows numbers that were seen of it; each must agree with its numbers."""
    number, last = row.number("branch"), row.number("windows_last")
    mine = [(linux, windows, source) for linux, windows, source in pairs if numbers(linux)[0] == number]
    for linux, windows, _ in mine:
        if not number <= numbers(windows)[0] <= last:
            raise row.fail("windows_last", f"contradicts the pair {linux}/{windows}")
    seen = f"; Windows numbers: {'; '.join(f'{linux} is {windows} ({source})' for linux, windows, source in mine)}"
    basis = seen if mine else "; Windows numbers: by the drivers that NVIDIA names for its toolkits"
    return {
        "branch": number,
        "cuda": row.text("cuda"),
        "windows_last": last,
        "windows_basis": row.text("windows_basis"),
        "source": row.text("source") + basis,
        "confidence": row.text("confidence"),
    }
