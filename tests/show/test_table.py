"""Tables at any width: every line fits, and the reason is never lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli import main
from torchpick.cli.text import lines

LIST = ["list", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]
cells = st.text(alphabet="abc ", max_size=12)


@pytest.mark.parametrize("arguments", [LIST, [*LIST, "--all"]])
@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_list_keeps_its_reasons(
    arguments: list[str], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    assert main(arguments) == 0
    shown = capsys.readouterr().out

    assert max(map(len, shown.splitlines())) <= width
    assert "no kernels for" in " ".join(shown.split()) or "holds no" in " ".join(shown.split())
    assert "binary by sm_60" in shown


@given(st.lists(st.tuples(cells, cells, cells), max_size=4), st.integers(12, 60))
def test_a_row_stays_one_string(rows: list[tuple[str, str, str]], width: int) -> None:
    assert len(lines(rows, width)) == len(rows)


@pytest.mark.process
@pytest.mark.parametrize("words", [LIST, (LIST[0], "vllm", *LIST[1:])], ids=["builds", "versions"])
def test_an_ascii_terminal_sees_no_escape(words: tuple[str, ...]) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    shown = subprocess.run(
        [sys.executable, "-m", "torchpick", *words], env=environ, capture_output=True, text=True, check=False
    ).stdout

    assert shown
    assert "\\u" not in shown
