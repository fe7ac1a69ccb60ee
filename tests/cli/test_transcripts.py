"""What the commands print for questions of every kind, word for word: see `tests/transcripts.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import transcripts


def test_commands_of_every_kind_print_what_they_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transcripts.check(Path(__file__).with_name("transcripts.json"), tmp_path, capsys, monkeypatch)
