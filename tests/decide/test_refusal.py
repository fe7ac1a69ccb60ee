"""What is said where no build runs on all of several machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.cli import main

LINUX = {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"}}
AMPERE = {**LINUX, "driver": {"version": "580.95.05"}, "gpus": [{"arch": "sm_86"}]}
KEPLER = {**LINUX, "driver": {"version": "470.256.02"}, "gpus": [{"arch": "sm_35"}]}
MAC = {"platform": {"os": "macos", "cpu": "arm64", "macos": "15.0"}, "python": {"version": "3.12"}}


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ([AMPERE, MAC], "linux-x86_64 and macos-arm64 have builds of their own, and none is for all of them"),
        ([KEPLER, MAC], "the nearest, "),
    ],
)
def test_platforms_with_builds_of_their_own_are_told_apart_from_one_without(
    machines: list[dict[str, object]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.jsonl"
    fleet.write_text("".join(json.dumps(each) + "\n" for each in machines))

    assert main(["url", "--machine", str(fleet)]) == 3

    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("error: no PyTorch build runs on all 2 machines")
    assert said in first
    assert not first.endswith(", ")
