"""Command lines as people mistype them: each is refused in a moment, with what is wrong and what to type."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from torchpick.cli import main

ROWS = json.loads((Path(__file__).parent / "mistakes.json").read_text("utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["typed"])
def test_a_mistake_is_answered_with_what_is_wrong_and_a_hint(
    row: dict[str, object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    status = main(shlex.split(str(row["typed"])))

    said = [line for line in capsys.readouterr().err.split("\n") if line.startswith(("error: ", "hint: "))]
    assert (said, status) == (row["says"], row["exit"])


def test_there_are_sixty_each_with_a_hint() -> None:
    assert len(ROWS) >= 60
    assert [row["typed"] for row in ROWS if len(row["says"]) != 2] == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("torchpick --gpu 3090", "--gpu 3090"), ("$ torchpick --gpu 3090", "--gpu 3090"), ("/?", "--help"),
        ("/help", "--help"), ("?", "--help"),
    ],
)  # fmt: skip
def test_what_is_plainly_meant_is_taken(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for line in (typed, meant):
        assert main(shlex.split(line)) == 0
        out = capsys.readouterr().out
        said.append([each for each in out.splitlines() if not each.startswith("run ")])  # that has the user's words

    assert said[0] == said[1]


@pytest.mark.usefixtures("on_linux")
@pytest.mark.parametrize("name", ["transformers", "triton", "vllm"])
def test_a_well_known_package_may_be_the_first_word(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--gpu", "3090", "--driver", "580.95.05", "--platform", "linux-x86_64"]) == 0
    assert f"torchpick install {name}" in capsys.readouterr().out
