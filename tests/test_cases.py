"""Whole runs as files: each tests/cases/*.json is a command line and what it must print. A new case needs no code.

Keys: `argv`; `env`; `exit`; `stdout` (exact); `stdout_has`, `stdout_lacks`, `stderr_has`, `stderr_lacks`; `json` (path
`pick.version` → its value; a path into a list takes a number); `considered` (a version → the objection codes it
must carry, [] for none); `notes` (codes the pick must carry).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import printed
from torchpick.cli import main

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.usefixtures("on_linux")  # a command is shown only where it would work
@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_case(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads(file.read_text("utf-8"))
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)

    status = main(case["argv"])
    out, err = capsys.readouterr()

    assert status == case["exit"], out + err
    if "stdout" in case:
        assert out == case["stdout"]
    for text in case.get("stdout_has", []):
        assert text in out
    for text in case.get("stdout_lacks", []):
        assert text not in out
    for text in case.get("stderr_has", []):
        assert text in err
    for text in case.get("stderr_lacks", []):
        assert text not in err
    assert "Traceback" not in err
    printed.check(out + err)
    if "--json" in case["argv"]:
        _check_json(case, json.loads(out))


def _check_json(case: dict[str, dict[str, object]], answer: dict[str, object]) -> None:
    assert answer["exit"] == case["exit"]
    for path, value in case.get("json", {}).items():
        assert _at(answer, path) == value, path
    considered = answer.get("considered", [])
    assert isinstance(considered, list)
    codes = {each["version"]: [objection["code"] for objection in each["objections"]] for each in considered}
    for version, expected in case.get("considered", {}).items():
        assert set(codes[version]) == set(expected), version  # type: ignore[call-overload]
    if "notes" in case:
        notes = [note["code"] for note in _at(answer, "pick.notes")]  # type: ignore[attr-defined]
        machine = [note["code"] for note in _at(answer, "machine.notes")]  # type: ignore[attr-defined]
        assert set(case["notes"]) == set(notes + machine)


def _at(value: object, path: str) -> object:
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)]
        else:
            assert isinstance(value, dict), path
            value = value[part]
    return value
