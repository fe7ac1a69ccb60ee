"""What commands really print under --json is what the schema of the contract says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import envelope
from torchpick.cli import main

TOLD = ["--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35"]
PASCAL = ["--gpu", "GTX 1080 Ti", "--driver", "580.95.05", *TOLD]

RUNS = {
    "pick": PASCAL, "pick, companions": ["torch", "torchvision", *PASCAL],
    "no build": ["--gpu", "sm_120", "--driver", "560.28.03", *TOLD], "no GPU": ["--gpu", "none", *TOLD],
    "url": ["url", *PASCAL], "label": ["label", "--among", "cpu,cu126", *PASCAL],
    "label fits none": ["label", "--among", "cu132", *PASCAL], "list": ["list", "--all", *PASCAL],
    "env": ["env", "--gpu", "sm_61", "--driver", "580.95.05"],
    "install": ["install", "torch", "--dry-run", "--gpu", "sm_61", "--driver", "580.95.05"],
    "detect": ["detect", *PASCAL], "inspect": ["inspect", __file__], "matrix": ["matrix", *PASCAL],
    "extras": ["extras", "torch>=2.5", "--for", "library"], "usage": ["--gpu", "no such", *TOLD],
    "network": ["inspect", "http://127.0.0.1:9/x.whl"],
}  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], words: list[str]) -> dict[str, Any]:
    main([*words, "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize("name", RUNS)
def test_a_real_answer_is_as_the_schema_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert envelope.faults(printed(capsys, RUNS[name])) == []


def test_several_machines_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = [printed(capsys, ["detect", "--gpu", gpu, "--driver", "580.95.05", *TOLD]) for gpu in ("sm_61", "sm_120")]
    (tmp_path / "machines").write_text("\n".join(map(json.dumps, lines)), "utf-8")

    answer = printed(capsys, ["--machine", str(tmp_path / "machines")])

    assert answer["status"] == "no_build"
    assert len(answer["plan"]) == 2
    assert envelope.faults(answer) == []
