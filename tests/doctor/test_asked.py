"""What is made of whole questions: which errors are seen in them, their causes, what is found, and what is noted.

`asked.json` has the texts, what is given beside them (`given`, `environ`), the torch of the environment that is here
(`here`), and the answers. Where an answer was changed on purpose, TORCHPICK_TEST_RENEW=1 writes the new one, to be read
in the diff. A new question needs no more than its `text`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.homes import BASE, CU126, VERSION, Home
from tests.transcripts import as_before
from torchpick.doctor import explanation
from torchpick.errors import UsageError
from torchpick.model.request import Request
from torchpick.session import Session

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        VERSION not in ("3.11", "3.12"), reason="the releases of this case have no wheel for this Python"
    ),
]

FILE = Path(__file__).with_name("asked.json")
ASKED = ("text", "given", "environ", "here")


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Home]:
    folder = tmp_path_factory.mktemp("homes")
    return {
        "": Home(folder / "none" / ".venv"),
        "cu126": Home(folder / "cu126" / ".venv").torch("2.9.1+cu126", "12.6", CU126),
        "cpu": Home(folder / "cpu" / ".venv").torch("2.9.1+cpu", None, None),
        "gone": Home(folder / "gone" / ".venv", python=False),
    }


def test_questions_of_every_kind_are_answered_as_they_were(homes: dict[str, Home]) -> None:
    known = json.loads(FILE.read_text("utf-8"))

    now = [plain(answered(row, homes[row.get("here", "")])) for row in known]

    as_before(FILE, known, now, "text")


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The same for any Python."""
    text = json.dumps(row).replace(f"Python {VERSION}", "Python $VERSION").replace(os.path.dirname(BASE), "$BASE")
    named: dict[str, Any] = json.loads(text)
    return named


def answered(row: dict[str, Any], home: Home) -> dict[str, Any]:
    """The question with what is made of it."""
    variables = {"HOME": str(home.root), "VIRTUAL_ENV": str(home.root), "PATH": "/nowhere", **row.get("environ", {})}
    given: dict[str, Any] = {**row.get("given", {})}
    gpus = given.pop("gpus", None)
    request = Request(**given, gpus=None if gpus is None else (*gpus,))
    asked = {name: row[name] for name in ASKED if name in row}
    try:
        found = explanation.explain([row["text"].encode()], Session(request, variables))
    except UsageError as error:
        return {**asked, "refused": str(error).replace(str(home.root), "HOME")}
    machine = found.machine
    return {
        **asked,
        "errors": [
            {
                "seen": f"{error.match.signature.id} in line {error.match.line}",
                "cause": error.cause.id,
                "found": [finding.code for finding in error.findings],
                "command": (error.command or "").replace(str(home.root), "HOME") or None,
                "advice": [finding.advice for finding in error.findings if finding.advice],
                "brings": [finding.brings for finding in error.findings if finding.brings],
                "is_here": error.is_here,
                "do": [cure for cure in error.cause.cures if "torch==" in cure or "--gpu" in cure],
            }
            for error in found.errors
        ],
        "machine": None if machine is None else machine.in_short,
        "notes": [f"{note.code}: {note.text}".replace(str(home.root), "HOME") for note in found.notes],
    }
