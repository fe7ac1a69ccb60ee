"""compat/requires.json: made from what the wheels of torch require, one list for every build of a release."""

from __future__ import annotations

import json
from pathlib import Path

from torchpick.model.versions import release_key

COMPAT = Path(__file__).parents[2] / "compat"


def test_every_release_of_the_table_has_its_requirements() -> None:
    """But for one that the wheel host has before the default index."""
    releases = json.loads((COMPAT / "requires.json").read_text("utf-8"))["releases"]
    in_table = sorted((path.stem.removeprefix("torch-") for path in COMPAT.glob("torch-*.json")), key=release_key)

    assert {*in_table[:-1]} <= set(releases) <= {*in_table}
    assert all(row["plain"] for row in releases.values())
