"""A companion belongs to the torch that its metadata pins, else to the one its maintainers name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from scripts.table import companions, layout, reading_companions, rows
from tests import usersettings
from torchpick.errors import NetworkError
from torchpick.index import index_places
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import ProjectReader
from torchpick.model.metadata import parse_metadata
from torchpick.wheels.listed import demand_on_torch

REQUIRES: dict[str, dict[str, str | None]] = {
    "torchvision": {
        "0.29.2": ">=2.14.0", "0.29.1": ">=2.14.0", "0.29.0": "==2.14.0", "0.26.0": "==2.11.0", "0.8.1": "==1.7.0",
        "0.8.0": "==1.7.0",
    },
    "torchaudio": {"2.11.0": None, "0.7.0": "==1.7.0"},
    "torchcodec": {"0.14.0": None, "0.10.0": None},
    "torchdata": {"0.11.0": ">=2", "0.7.0": "==2.1.0"},
}  # fmt: skip
PLACES: dict[str, companions.Held] = {"2.11.0": {"linux-x86_64": {"cu126": "12.6"}}}
COMPAT = Path(__file__).parents[2] / "compat"


def pairs(*releases: str) -> dict[str, tuple[object, object, object]]:
    found = companions.table(releases, REQUIRES, PLACES)["pairs"]
    assert isinstance(found, list)
    return {pair["torch"]: (pair["torchvision"], pair["torchaudio"], pair["basis"]) for pair in found}


def test_the_shipped_table_is_what_the_evidence_makes() -> None:
    built = companions.built(COMPAT)

    assert layout.readable(built) + "\n" == (COMPAT / "companions.json").read_text("utf-8")


def test_the_newest_of_several_that_pin_one_torch() -> None:
    assert pairs("1.7.0") == {"1.7.0": ("0.8.1", "0.7.0", "metadata")}


def test_what_the_maintainers_state_is_declared() -> None:
    assert pairs("2.11.0", "2.14.1", "2.15.0") == {
        "2.15.0": ("0.29.2", None, "declared"),
        "2.14.1": ("0.29.1", None, "declared"),
        "2.11.0": ("0.26.0", "2.11.0", "declared"),
    }


def test_one_companion_may_have_ended() -> None:
    assert pairs("2.14.0") == {"2.14.0": ("0.29.0", None, "metadata")}


def test_an_open_companion_lies_where_its_torch_lies() -> None:
    found = companions.table(["2.11.0", "2.15.0"], REQUIRES, PLACES)["open"]

    assert isinstance(found, list)
    assert [(row["name"], row["version"], row["from"], row["held"]) for row in found] == [
        ("torchaudio", "2.11.0", "2.11.0", PLACES["2.11.0"])
    ]


def named(*files: str) -> list[dict[str, object]]:
    return [{"index": "whl/cpu", "file": file, "sha256": "a" * 64, "seen": [0]} for file in files]


def test_a_companion_of_such_a_platform_has_its_own_label_or_is_not_there() -> None:
    pythons = {"*": ["cp312"], "linux-x86_64": ["cp312"]}
    files: list[dict[str, object]] = [{"name": "torchvision", "version": "0.29.0", "pythons": pythons}]
    seen: list[dict[str, object]] = [
        {"platform": "windows-arm64", "files": {"torchvision": {"0.29.0+e437e35": ["cp313"]}}, "source": ""}
    ]
    paired = rows.Companions(companions.table(["2.14.0"], REQUIRES, PLACES, files, seen)).of_build

    windows = paired("2.14.0", "cpu", "windows-arm64", "+cpu", None)
    assert (windows.versions, windows.pythons) == (
        {"torchvision": "0.29.0+e437e35", "torchaudio": None},
        {"torchvision": ("cp313",)},
    )
    assert paired("2.11.0", "cpu", "windows-arm64", "+cpu", None).versions == {}
    linux = paired("2.14.0", "cpu", "linux-x86_64", "+cpu", None)
    assert (linux.versions["torchvision"], linux.bases["torchvision"]) == ("0.29.0+cpu", "metadata")
    # No file of it was seen there: its Pythons are those of elsewhere, and that it is there at all is inferred.
    other = paired("2.14.0", "cpu", "macos-arm64", "", None)
    assert (other.versions["torchvision"], other.pythons, other.bases["torchvision"]) == (
        "0.29.0", {"torchvision": ("cp312",)}, "inferred",
    )  # fmt: skip


def test_what_is_not_pinned_with_torch_is_stated_or_read() -> None:
    found = companions.table(["2.11.0"], REQUIRES, PLACES)["others"]

    assert isinstance(found, list)
    assert [(row["name"], row["version"], row["torch"], row["cuda_major"], row["basis"]) for row in found] == [
        ("torchcodec", "0.14.0", ">=2.11", 13, "declared"), ("torchcodec", "0.10.0", "==2.10.*", None, "declared"),
        ("torchdata", "0.11.0", ">=2", None, "metadata"), ("torchdata", "0.7.0", "==2.1.0", None, "metadata"),
    ]  # fmt: skip


@pytest.mark.parametrize(("requirement", "torch"), [
        ("torch (==1.7.1)", "==1.7.1"), ("torch ==2.4.0", "==2.4.0"), ("torch==2.8.0", "==2.8.0"),
        ("torch (>=2.14.0)", ">=2.14.0"), ("torch<3,>=2", "<3,>=2"), ("torch", ""), ("torchdata==0.1", None),
        ("torch==2.8.0 ; extra == 'x'", "==2.8.0"),
])  # fmt: skip
def test_what_a_requirement_asks_of_torch(requirement: str, torch: str | None) -> None:
    text = f"Name: torchvision\nVersion: 1\nRequires-Dist: numpy\nRequires-Dist: {requirement}\n"
    reader = SimpleNamespace(metadata=lambda files: dict.fromkeys(files, parse_metadata(text)))

    assert demand_on_torch(cast("ProjectFile", None), cast("ProjectReader", reader)) == torch


@pytest.mark.network
def test_the_index_says_what_the_evidence_says(monkeypatch: pytest.MonkeyPatch) -> None:
    usersettings.take_over(monkeypatch)
    recorded = json.loads(companions.EVIDENCE.read_text("utf-8"))["requires"]["torchvision"]
    try:
        with ProjectReader(index_places.of_user(os.environ), os.environ, anew=True) as index:
            listed = reading_companions.releases("torchvision", index)
            found = {one: demand_on_torch(listed[one][0], index) for one in ("0.24.1", "0.29.1")}
    except NetworkError as error:
        pytest.skip(f"the package index does not answer: {error}")

    assert recorded.keys() <= listed.keys()
    assert found == {one: recorded[one] for one in found}
