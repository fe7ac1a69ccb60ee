"""Recorded answers: a failure shows the difference, and a renewal writes what changed and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import recorded

ROOT = Path(__file__).parents[1]
FILES = [file for file in sorted(ROOT.glob("tests/**/*.json")) if '"answer": ' in file.read_text("utf-8")]
TEST = """
from pathlib import Path
from tests import recorded

FILE = Path(__file__).with_name("cases.json")

@recorded.cases(FILE)
def test_sum(case, answers):
    answers.same({"sum": sum(case.question["numbers"]), "lines": ["one", "two"]})

test_word = recorded.table(FILE.with_name("table.json"), lambda: {"a": 1, "new": [2]})
"""
SUM: dict[str, object] = {"sum": 3, "lines": ["one", "two"]}
CASES: dict[str, dict[str, object]] = {
    "right": {"numbers": [1, 2], "answer": SUM},
    "wrong": {"numbers": [2, 2], "answer": SUM},
    "not yet answered": {"numbers": [5]},
}
TABLE = {"a": {"answer": 1}, "gone": {"answer": 0}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(TEST, "utf-8")
    (tmp_path / "cases.json").write_text(recorded.written(CASES), "utf-8")
    (tmp_path / "table.json").write_text(recorded.written(TABLE), "utf-8")
    return tmp_path


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    own = ["-p", "tests.recorded", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    argv = [sys.executable, "-m", "pytest", "-q", *own, *words, str(folder)]
    return subprocess.run(argv, env=environ, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_a_failure_shows_what_changed_and_the_command_that_renews_it(folder: Path) -> None:
    done = ran(folder, "-k", "wrong")

    assert done.returncode == 1
    assert '--- recorded\n+++ now\n@@ -1,4 +1,4 @@\n {\n- "sum": 3,\n+ "sum": 4,\n  "lines"' in done.stdout
    assert "where that is meant: scripts/test --renew 'test_it.py::test_sum[wrong]'" in done.stdout
    assert "Traceback" not in done.stdout
    assert "1 failed" in done.stdout
    assert json.loads((folder / "cases.json").read_text("utf-8")) == CASES


@pytest.mark.process
def test_a_renewal_is_green_and_writes_only_what_changed(folder: Path) -> None:
    done = ran(folder, "--renew", "-n", "2")

    assert done.returncode == 0, done.stdout
    assert "renewed 2 in cases.json" in done.stdout
    answered = {"sum": 5, "lines": ["one", "two"]}
    assert json.loads((folder / "cases.json").read_text("utf-8")) == {
        "right": CASES["right"],
        "wrong": {"numbers": [2, 2], "answer": {**SUM, "sum": 4}},
        "not yet answered": {"numbers": [5], "answer": answered},
    }
    assert json.loads((folder / "table.json").read_text("utf-8")) == {"a": {"answer": 1}, "new": {"answer": [2]}}
    times = [file.stat().st_mtime_ns for file in folder.glob("*.json")]
    assert ran(folder, "--renew").returncode == ran(folder).returncode == 0
    assert [file.stat().st_mtime_ns for file in folder.glob("*.json")] == times


@pytest.mark.process
def test_an_answer_that_is_missing_or_that_nobody_asks_for_is_red(folder: Path) -> None:
    done = ran(folder, "-k", "word")

    assert "not recorded in table.json: new" in done.stdout
    (folder / "test_it.py").write_text(TEST.replace(', "new": [2]', ""), "utf-8")
    assert "nobody asks this any more, and table.json has it" in ran(folder, "-k", "gone").stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_file_is_as_a_renewal_writes_it(file: Path) -> None:
    text = file.read_text("utf-8")

    assert recorded.written(json.loads(text)) == text
