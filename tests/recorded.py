"""Recorded answers: a file of JSON has cases by name, each with what is asked and, as `answer`, what came of it.

`@recorded.cases(FILE)` makes a test of each, which `-k` finds by its name; the test hands what comes now to
`answers.same`. `--renew` writes into the files what differs, and answers what has none yet, to be read in the diff.
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.terminal import TerminalReporter

_RENEWED = "renewed"
_WIDTH = 120


class Case(NamedTuple):
    file: Path
    name: str
    question: dict[str, Any]
    answer: object = None


class Answers:
    """What a test has of an answer to hold it to the file, or to write it there."""

    def __init__(self, case: Case, item: pytest.Item) -> None:
        self._case, self._item = case, item
        self._renew = bool(item.config.getoption("renew"))

    def same(self, answer: object) -> None:
        """It is the one of the case."""
        now = json.loads(json.dumps(answer))
        if now != self._case.answer:
            why = f"another answer than in {self._case.file.name}:\n{_difference(self._case.answer, now)}"
            self.write({self._case.name: {**self._case.question, "answer": now}}, why)

    def write(self, rows: Mapping[str, object], why: str) -> None:
        """Put these rows into the file (None removes one), or fail with the reason."""
        if not self._renew:
            command = f"scripts/test --renew {shlex.quote(self._item.nodeid)}"
            pytest.fail(f"{why}\n\nwhere that is meant: {command}", pytrace=False)
        self._item.user_properties.append((_RENEWED, json.dumps([str(self._case.file), rows])))


@pytest.fixture
def answers(case: Case, request: pytest.FixtureRequest) -> Answers:
    return Answers(case, request.node)


def cases(file: Path) -> pytest.MarkDecorator:
    """A test for each case of the file."""
    found = []
    for name, row in json.loads(file.read_text("utf-8")).items():
        question = {fact: value for fact, value in row.items() if fact != "answer"}
        found.append(Case(file, name, question, row.get("answer")))
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


def table(file: Path, compute: Callable[[], Mapping[str, object]]) -> Callable[..., None]:
    """The test of a file whose questions stand in code: each answer is the recorded one, and each question has one."""
    recorded = json.loads(file.read_text("utf-8"))
    computed = cache(compute)

    def test_an_answer(case: Case, answers: Answers) -> None:
        now = computed()
        if missing := {name: {"answer": json.loads(json.dumps(now[name]))} for name in now if name not in recorded}:
            answers.write(missing, f"not recorded in {file.name}: {', '.join(missing)}")
        if case.name in now:
            answers.same(now[case.name])
        else:
            answers.write({case.name: None}, f"nobody asks this any more, and {file.name} has it")

    test: Callable[..., None] = cases(file)(test_an_answer)
    return test


def written(value: object) -> str:
    """The text of a file of cases: what fits into a line stands in one, so that a diff shows what changed."""
    return f"{_broken(value, 0)}\n"


def _broken(value: object, depth: int) -> str:
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, dict) and value:
        items = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        texts = [_fitted(each, depth + 1, len(key)) for key, each in zip(items, value.values(), strict=True)]
        lines = ",\n".join(f"{inner}{key}{text}" for key, text in zip(items, texts, strict=True))
        return f"{{\n{lines}\n{outer}}}"
    if isinstance(value, list) and value:
        lines = ",\n".join(f"{inner}{_fitted(each, depth + 1, 0)}" for each in value)
        return f"[\n{lines}\n{outer}]"
    return json.dumps(value, ensure_ascii=False)


def _fitted(value: object, depth: int, before: int) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    return whole if depth + before + len(whole) < _WIDTH else _broken(value, depth)


def _difference(recorded: object, now: object) -> str:
    before, after = ([] if each is None else written(each).splitlines() for each in (recorded, now))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "now", n=2, lineterm=""))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the recorded answers that differ into their files")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("renew") and not hasattr(config, "workerinput"):  # one of the processes that run tests
        config.pluginmanager.register(_Renewal())


class _Renewal:
    """Writes the files, in the process that hears of every test."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, text in report.user_properties:
            if key == _RENEWED:
                file, rows = json.loads(str(text))
                self._rows.setdefault(file, {}).update(rows)

    def pytest_sessionfinish(self) -> None:
        for file, rows in self._rows.items():
            path = Path(file)
            known = json.loads(path.read_text("utf-8"))
            kept = {name: row for name, row in {**known, **rows}.items() if row is not None}
            path.write_text(written(kept), encoding="utf-8", newline="\n")

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        for file, rows in self._rows.items():
            terminalreporter.write_line(f"renewed {len(rows)} in {os.path.relpath(file)}")
