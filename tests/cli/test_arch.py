"""`torchpick arch` where the capability of a GPU is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.cli import main


@pytest.mark.parametrize(("arches", "status", "line"), [([None, "sm_86"], 0, "8.6\n"), ([None], 2, "")])
def test_a_gpu_whose_capability_is_not_known_is_passed_over(
    arches: list[str | None], status: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {
        "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
        "python": {"version": "3.12"},
        "driver": {"version": "580.95.05"},
        "gpus": [{"vendor": "nvidia", "name": "a new one", "arch": arch} for arch in arches],
    }
    (tmp_path / "machine").write_text(json.dumps(machine), "utf-8")

    assert main(["arch", "--machine", str(tmp_path / "machine")]) == status
    assert capsys.readouterr().out == line
