"""What `scripts/mutate` changes, and what it makes of tests that notice or do not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.mutation import mapping, mutants, running

SOURCE = '''
"""A docstring is left alone."""
def f(a: int = 3, b: "str" = "x") -> bool:
    if a == 1 and b != "two words":
        return g(a, b, key=True)
    return [each for each in (1, "y") if each]
'''


def test_each_kind_of_change_is_made_once() -> None:
    assert [(each.line, each.change) for each in mutants.of(SOURCE)] == [
        (3, "3 → 4"),
        (3, "'x' → 'xX'"),
        (4, "condition turned"),
        (4, "And → Or"),
        (4, "Eq → NotEq"),
        (4, "1 → 2"),
        (4, "NotEq → Eq"),
        (5, "without key=True in the call of g"),
        (5, "without b in the call of g"),
        (5, "True → False"),
        (6, "without `if each`"),
        (6, "without element 0: 1"),
        (6, "without element 1: 'y'"),
        (6, "1 → 2"),
        (6, "'y' → 'yX'"),
    ]


def test_every_mutant_differs_and_the_source_comes_back() -> None:
    sources = [each.source for each in mutants.of(SOURCE)]

    assert len(set(sources)) == len(sources)
    assert all("docstring is left alone" in each for each in sources)


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on Windows")
def test_what_a_test_notices_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "mutated_example.py"
    module.write_text("def f(a):\n    return a + 1 if a > 5 else 0\n")
    test = tmp_path / "test_example.py"
    test.write_text("from mutated_example import f\n\ndef test_f():\n    assert f(6) == 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    changes = list(mutants.of(module.read_text()))

    found = running.verdicts("mutated_example", str(module), changes, [str(test)], 2, 60.0)
    alive = {each.mutant.change for each in found if not each.killed}

    assert alive == {"Gt → GtE", "0 → 1"}


def test_changed_lines_are_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "src" / "torchpick" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("a = 1\nb = 2\nc = 3\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    file.write_text("a = 1\nb = 3\nc = 3\nd = 4\n")

    assert mapping.changed_lines("HEAD") == {Path("src/torchpick/x.py"): {2, 4}}
    assert mapping.name_of(Path("src/torchpick/x.py")) == "torchpick.x"
