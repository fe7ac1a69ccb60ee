"""Commands and all that they print, word for word: a room's `transcripts.json` has its questions and their answers.

A question is its `argv`, with the `files` that lie in its folder, its `stdin`, the `limits` of a file of constraints,
`machines` as the lines of `fleet.jsonl`, and more variables (`env`). The answer is the exit status, stdout, stderr, and
the text of each file that the command wrote (`wrote`). Where an answer was changed on purpose, TORCHPICK_TEST_RENEW=1
writes the new one into the file, to be read in the diff; a new question needs no more than what is asked.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.environment import interpreter
from torchpick.environment.interpreter import Interpreter
from torchpick.model.machine import Platform, Python

RENEW = bool(os.environ.get("TORCHPICK_TEST_RENEW"))
_ASKED = ("argv", "env", "limits", "machines", "files", "stdin")

Case = dict[str, object]


def check(file: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question of the file is answered as it was."""
    for name, value in {"HOME": str(folder), "PATH": "/nowhere", "COLUMNS": "120"}.items():
        monkeypatch.setenv(str(name), str(value))
    monkeypatch.setattr(interpreter, "own", our_python)
    known: list[Case] = json.loads(file.read_text(encoding="utf-8"))
    now = []
    for place, case in enumerate(known):
        (own := folder / str(place)).mkdir()
        with monkeypatch.context() as patch:
            now.append(answered(case, own, capsys, patch))
    as_before(file, known, now, "argv")


def our_python(source: str = "the Python that runs torchpick") -> Interpreter:
    """The Python and the system that transcripts are of, whatever runs the tests."""
    python = Python("3.11", executable=sys.executable, source=source, exact="3.11.7")
    return Interpreter(python, Platform("linux", "x86_64", "2.36", "glibc"))


def as_before(file: Path, known: Sequence[Case], now: Sequence[Case], question: str) -> None:
    """These are the answers that were known, each with its question; or they are written, to be read in the diff."""
    if RENEW:
        file.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for before, after in zip(known, now, strict=True):
        assert after == before, after[question]


def answered(case: Case, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Case:
    """The case with what its command prints and writes in this folder."""
    monkeypatch.chdir(folder)
    files = {str(name): "\n".join(lines) for name, lines in dict(case.get("files", {})).items()}  # type: ignore[call-overload]
    if limits := case.get("limits"):
        files["limits.txt"] = str(limits)
        monkeypatch.setenv("PIP_CONSTRAINT", "limits.txt")
    if machines := case.get("machines"):
        files["fleet.jsonl"] = "".join(f"{json.dumps(each)}\n" for each in list(machines))  # type: ignore[call-overload]
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8", newline="")
    for name, value in dict(case.get("env", {})).items():  # type: ignore[call-overload]
        monkeypatch.setenv(str(name), str(value))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(str(case.get("stdin", "")).encode())))
    status = main(shlex.split(str(case["argv"])))
    out, err = capsys.readouterr()
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in found.items()}
    wrote = {name: text.splitlines() for name, text in texts.items() if files.get(name) != text}
    asked = {name: value for name, value in case.items() if name in _ASKED}
    answer: Case = {**asked, "exit": status, "out": out.splitlines(), "err": err.splitlines()}
    return {**answer, "wrote": wrote} if wrote else answer


def hold(file: Path, now: Mapping[str, object]) -> None:
    """Each of these answers is the one in the file, which has one a line; TORCHPICK_TEST_RENEW=1 writes them anew."""
    told = {name: json.loads(json.dumps(answer)) for name, answer in now.items()}
    if RENEW:
        rows = [f" {_json(name)}: {_json(answer)}" for name, answer in told.items()]
        file.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    known = json.loads(file.read_text(encoding="utf-8"))
    assert list(told) == list(known)
    for name, answer in told.items():
        assert answer == known[name], name


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
