"""What questions of every kind are answered, word for word: see `tests/transcripts.py`.

The questions were chosen out of many so that together they take each way that the judgement, the search and the words
for them can take.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import transcripts


def test_questions_of_every_kind_are_answered_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transcripts.check(Path(__file__).with_name("transcripts.json"), tmp_path, capsys, monkeypatch)
