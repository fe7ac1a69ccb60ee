"""`torchpick lock`: what is refused before anything is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.cli import main

PASCAL = ["--gpu", "sm_61", "--driver", "580.95.05"]


def test_a_folder_with_the_name_of_a_lock_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pylock.toml").mkdir()

    assert main(["lock", "torch", "-o", "pylock.toml", "-r", "absent.txt", *PASCAL]) == 2

    err = capsys.readouterr().err
    assert "`-o pylock.toml` is a folder" in err
    assert f"hint: give a file: `-o {os.path.join('pylock.toml', 'pylock.torch.toml')}`" in err
