"""`torchpick lock`: what is refused before anything is asked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchpick.cli import main

PASCAL = ["--gpu", "sm_61", "--driver", "580.95.05"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "requirements.lock"], "is not a valid name for a lock"),
        (["-o", "pylock.a.b.toml"], "is not a valid name for a lock"),
        (["-o", "."], "is a folder"),
        (["-o", "nowhere/pylock.toml"], "there is no such folder"),
        (["--index-base", "nonsense"], "is not a valid mirror URL"),
        (["--index-base", "file://[x"], "is not a valid mirror URL"),
        (["-r", "file://[x"], "is not a valid URL"),
        (["-r", "absent.txt"], "absent.txt: cannot be read"),
        (["torch>>2"], "is not a valid requirement"),
    ],
)
def test_a_slip_is_told_with_a_hint_and_writes_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["lock", "torch", *words, *PASCAL]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "\nhint: " in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_the_name_of_a_lock_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pylock.toml").mkdir()

    assert main(["lock", "torch", "-o", "pylock.toml", "-r", "absent.txt", *PASCAL]) == 2

    err = capsys.readouterr().err
    assert "`-o pylock.toml` is a folder" in err
    assert f"hint: give a file: `-o {os.path.join('pylock.toml', 'pylock.torch.toml')}`" in err


def test_several_machines_are_sent_to_locks_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told = ["--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35"]
    for gpu in ("sm_61", "sm_120"):
        main(["detect", "--json", "--gpu", gpu, "--driver", "580.95.05", *told])
    Path("fleet").write_text(capsys.readouterr().out, "utf-8")

    assert main(["lock", "torch", "--machine", "fleet"]) == 2

    assert "hint: ask for one of them at a time" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["override-dependencies", "constraint-dependencies"])
def test_what_binds_uv_is_obeyed_or_named_with_its_place(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/false\n", "utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    file = tmp_path / "pyproject.toml"
    file.write_text(f'[tool.uv]\n{name} = ["torch<1.0"]\n', "utf-8")

    assert main(["lock", "torch", "--python", sys.executable, "--installer", "uv", *PASCAL]) == 3

    err = capsys.readouterr().err
    assert f"without torch<1.0 in {file} {name}: torch 2.14.1+cu126" in err
