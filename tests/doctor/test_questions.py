"""What is made of whole questions: which errors are seen in them, their causes, what is found, and what is noted.

`questions.json` has the texts, what is given beside them (`given`, `environ`), the torch of the environment that is
here (`here`), and the answers, by `tests/recorded.py`. The Python is a fact of the questions, and is not started.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import recorded
from tests.doctor.homes import BASE, CU126, Home
from tests.fakes import pythons
from tests.recorded import Answers, Case
from torchpick.doctor import explanation
from torchpick.environment import child, interpreter
from torchpick.errors import UsageError
from torchpick.model.pick import Request
from torchpick.run import start_run


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Home]:
    folder = tmp_path_factory.mktemp("homes")
    none, cu126, cpu, gone = (folder / name / ".venv" for name in ("none", "cu126", "cpu", "gone"))
    return {
        "": Home(none, version=pythons.MADE_UP),
        "cu126": Home(cu126, version=pythons.MADE_UP).torch("2.9.1+cu126", "12.6", CU126),
        "cpu": Home(cpu, version=pythons.MADE_UP).torch("2.9.1+cpu", None, None),
        "gone": Home(gone, version=pythons.MADE_UP, python=False),
    }


@pytest.mark.skipif(os.name == "nt", reason="the made-up environment is laid out as on Linux")
@recorded.cases(Path(__file__).with_name("questions.json"))
def test_a_question_is_answered(
    case: Case, answers: Answers, homes: dict[str, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the checkout may have an environment of its own
    home = homes[case.question.get("here", "")]
    monkeypatch.setattr(child, "run", pythons.answers(home.root, str(home.root)))
    monkeypatch.setattr(interpreter, "running", pythons.made_up)

    found = json.dumps(answered(case.question, home))

    answers.same(json.loads(found.replace(str(home.root), "HOME").replace(os.path.dirname(BASE), "$BASE")))


def answered(question: Mapping[str, Any], home: Home) -> dict[str, Any]:
    variables = {"HOME": str(home.root), "VIRTUAL_ENV": str(home.root), "PATH": "/nowhere"}
    given: dict[str, Any] = {**question.get("given", {})}
    gpus = given.pop("gpus", None)
    request = Request(**given, gpus=None if gpus is None else (*gpus,))
    try:
        found = explanation.explain(
            [question["text"].encode()], start_run(request, {**variables, **question.get("environ", {})})
        )
    except UsageError as error:
        return {"refused": str(error)}
    machine = found.machine
    return {
        "errors": [
            {
                "seen": f"{error.match.signature.id} in line {error.match.line}", "cause": error.cause.id,
                "found": [finding.code for finding in error.findings], "command": error.command,
                "advice": [finding.advice for finding in error.findings if finding.advice],
                "brings": [finding.brings for finding in error.findings if finding.brings], "is_here": error.is_here,
                "do": [cure for cure in error.cause.cures if "torch==" in cure or "--gpu" in cure],
            }
            for error in found.errors
        ],
        "machine": None if machine is None else machine.in_short,
        "notes": [f"{note.code}: {note.text}" for note in found.notes],
    }  # fmt: skip
