"""Two `torchpick pin` at once: whichever is in the middle, the other waits, and `unpin` finds what was there first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.commands import begun, snapshot
from torchpick.cli import main
from torchpick.environment import rewrite
from torchpick.install import pin
from torchpick.install.env import variables_of

PIN = ["pin", "--gpu", "sm_61", "--driver", "580.95.05", "--quiet", "--python"]
OWN = "[install]\nfind-links = https://own.example/links/\n"


def test_one_that_starts_in_the_middle_of_the_other_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = begun({"target": {}, "files": {"$TARGET/pip.conf": OWN.split("\n")}}, tmp_path, monkeypatch)
    python = marks["$TARGET"] + "/bin/python"
    before = snapshot(tmp_path)
    ended = []
    late = threading.Thread(target=lambda: ended.append(main([*PIN, python])))
    waits = threading.Event()
    take, decide = rewrite.take, variables_of

    def taken(handle: int) -> bool:
        had = take(handle)
        if not had:
            waits.set()
        return had

    def in_the_middle(*words: Any) -> object:
        """The other one gets as far as it can, when the first has taken out what an earlier pin wrote."""
        monkeypatch.setattr(pin, "variables_of", decide)
        late.start()
        while late.is_alive() and not waits.is_set():
            late.join(0.05)
        return decide(*words)

    monkeypatch.setattr(rewrite, "take", taken)
    monkeypatch.setattr(pin, "variables_of", in_the_middle)

    assert main([*PIN, python]) == 0
    late.join(60)
    assert ended == [0]
    assert "own.example" in Path(marks["$TARGET"], "pip.conf").read_text("utf-8")
    assert main(["unpin", "--python", python]) == 0
    assert snapshot(tmp_path) == before
