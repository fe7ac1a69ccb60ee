"""What questions of every kind are answered, word for word: `transcripts.json` has the commands and what they print.

The questions were chosen out of many so that together they take each way that the judgement, the search and the words
for them can take. Where an answer was changed on purpose, TORCHPICK_TEST_RENEW=1 writes the new one into the file, to
be read in the diff. A new question needs its `argv`, its `limits` where a file of constraints binds it, and
its `machines`, the rows of `fleet.jsonl`, where it is about several.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from torchpick.cli import main

FILE = Path(__file__).with_name("transcripts.json")
ASKED = ("argv", "limits", "machines")
RENEW = bool(os.environ.get("TORCHPICK_TEST_RENEW"))


def test_questions_of_every_kind_are_answered_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"HOME": str(tmp_path), "PATH": "/nowhere", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    known = json.loads(FILE.read_text(encoding="utf-8"))

    now = [answered(each, capsys, monkeypatch) for each in known]

    if RENEW:
        FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for before, after in zip(known, now, strict=True):
        assert after == before, after["argv"]


def answered(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, object]:
    """The case with what its command prints."""
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    if limits := case.get("limits"):
        Path("limits.txt").write_text(str(limits), encoding="utf-8")
        monkeypatch.setenv("PIP_CONSTRAINT", "limits.txt")
    if machines := case.get("machines"):
        Path("fleet.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in machines), encoding="utf-8")
    status = main(shlex.split(str(case["argv"])))
    out, err = capsys.readouterr()
    asked = {name: value for name, value in case.items() if name in ASKED}
    return {**asked, "exit": status, "out": out.splitlines(), "err": err.splitlines()}
