"""What compat/ says of GPUs is what the sources recorded under evidence/ say, to the byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts.table import importing_gpus

COMPAT = Path(__file__).parents[2] / "compat"


def test_a_rebuild_from_the_evidence_differs_in_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "compat"
    shutil.copytree(COMPAT, copy)
    for name in ("gpus.json", "amd.json", "intel.json", "apple.json"):
        (copy / name).unlink()

    assert importing_gpus.main([str(copy)]) == 0

    for path in sorted(COMPAT.glob("*.json")):
        assert (copy / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize(("torch", "backend", "there", "missing"), [
        ("2.14.1", "rocm7.2", "gfx1103", None), ("2.12.1", "rocm7.2", "gfx1151", "gfx1103"),
        ("2.14.1", "rocm7.14", "gfx1103", "gfx906"), ("2.6.0", "rocm6.2.4", "gfx1101", "gfx1201"),
        ("2.5.1", "rocm6.1", "gfx1100", "gfx1101"), ("2.9.1", "rocm6.3", "gfx906", "gfx950"),
])  # fmt: skip
def test_targets_belong_to_a_build_and_not_to_an_index(
    torch: str, backend: str, there: str, missing: str | None
) -> None:
    release = json.loads((COMPAT / f"torch-{torch}.json").read_text("utf-8"))
    (row,) = [row for row in release["builds"] if row["backend"] == backend]

    assert there in row["arches"]
    assert missing not in row["arches"]


def test_a_list_that_is_only_a_guess_is_left_out() -> None:
    evidence = {"kind": "declared", "ref": "x", "confidence": "high"}
    row: dict[str, Any] = {"backend": "rocm9.9", "arches": ["gfx900"], "evidence": evidence}
    told = {"arches": ["gfx1100"], "confidence": "low", "why": "a default"}

    importing_gpus.apply(row, "2.0.0", {("2.0.0", "rocm9.9"): told})

    assert row["arches"] is None
    assert row["evidence"] == {"kind": "declared", "ref": "arches: a default; wheel: x", "confidence": "low"}
