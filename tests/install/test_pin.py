"""What `pin`, `env` and `extras` leave in files: who can read a password then and is told of it, and what stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.commands import begun
from torchpick.cli import main
from torchpick.install.pin import unpin
from torchpick.run import Run

MIRROR = "https://anna:s3cr3tword@mirror.example/whl"
OWN = "https://anna:s3cr3tword@own.example/limits.txt"
CARD = ["--gpu", "sm_61", "--driver", "580.95.05", "--glibc", "2.35"]
TOLD = "holds a password now, and others can read it"
PROJECT = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.10"\ndependencies = ["torch"]\n'
SCRIPT = "# /// script\n# dependencies = ['torch']\n# ///\n"


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(Run, "fetch", lambda _run, _url: b"numpy<3\n")  # the constraints at that address
    return begun({"target": {"pip": "26.3"}}, tmp_path, monkeypatch)


def done(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    status = main([*words, *CARD, "--index-base", MIRROR])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out, " ".join(err.split())


def mode_of(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_a_new_file_with_a_password_is_its_owners_alone(
    marks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    target = Path(marks["$TARGET"])
    own = Path(marks["$HOME"], ".config", "pip", "pip.conf")
    own.parent.mkdir(parents=True)
    own.write_text(f"[global]\nconstraint = {OWN}\n", "utf-8")

    _, err = done(capsys, "pin", "--python", f"{target}/bin/python")

    assert "s3cr3tword" in (target / "pip.conf").read_text("utf-8")
    assert mode_of(target / "pip.conf") == 0o600
    assert TOLD not in err
    assert "s3cr3tword" not in err
    for file in (target / "share").rglob("*"):
        if file.is_file() and "s3cr3tword" in file.read_text("utf-8"):
            assert mode_of(file) == 0o600, file


def test_a_password_that_others_can_read_now_is_told_and_one_that_was_there_is_not(
    marks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    target, project = Path(marks["$TARGET"]), Path(marks["$HERE"], "pyproject.toml")
    project.write_text(PROJECT, "utf-8")
    project.chmod(0o644)
    words = ("pin", "--python", f"{target}/bin/python", "--project", "pyproject.toml")

    _, first = done(capsys, *words)
    _, again = done(capsys, *words)

    assert first.count(f"{project} {TOLD}") == again.count(f"{project} {TOLD}") == 1
    project.write_text(f"{PROJECT}# {MIRROR}\n", "utf-8")
    assert TOLD not in done(capsys, *words)[1]


def test_a_script_that_holds_a_password_now_is_told(marks: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    script = Path(marks["$HERE"], "train.py")
    script.write_text(SCRIPT, "utf-8")
    script.chmod(0o644)

    out, err = done(capsys, "pin", "train.py", "--python", f"{marks['$TARGET']}/bin/python", "--json")

    assert "s3cr3tword" in script.read_text("utf-8")
    assert [note["code"] for note in json.loads(out)["pinned"]] == ["PASSWORD_WRITTEN"]
    assert "s3cr3tword" not in out + err


@pytest.mark.parametrize(
    ("shell", "said"), [("sh", "keep them out of logs"), ("dockerfile", "the image will hold a password")]
)
def test_lines_with_a_password_are_told_to_hold_one(
    shell: str,
    said: str,
    marks: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert marks
    assert main(["env", "--shell", shell, *CARD]) == 0
    assert "password" not in capsys.readouterr().err

    monkeypatch.setenv("PIP_CONSTRAINT", OWN)
    assert said in done(capsys, "env", "--shell", shell)[1]


def test_what_is_handed_on_holds_no_password(marks: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    project = Path(marks["$HERE"], "pyproject.toml")
    project.write_text(PROJECT, "utf-8")

    status = main(["extras", "--for", "app", "--write", "pyproject.toml", "--index-base", MIRROR])
    err = capsys.readouterr().err

    assert status == 0, err
    assert "https://mirror.example/whl/cu" in project.read_text("utf-8")
    assert "anna" not in project.read_text("utf-8")


def test_a_copy_of_a_pinned_environment_is_left_without_an_empty_file(
    marks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    target = Path(marks["$TARGET"])
    done(capsys, "pin", "--python", f"{target}/bin/python")
    copy = target.parent / "copy"
    shutil.copytree(target, copy, symlinks=True)

    done(capsys, "pin", "--python", f"{copy}/bin/python")
    assert main(["unpin", "--python", f"{copy}/bin/python"]) == 0

    assert not (copy / "pip.conf").exists()
    assert not (copy / "share").exists()
    assert (target / "pip.conf").exists()
    (copy / "pip.conf").symlink_to(copy / "own.conf")  # somebody's own, which led nowhere
    done(capsys, "pin", "--python", f"{copy}/bin/python")
    assert (copy / "own.conf").exists()
    main(["unpin", "--python", f"{copy}/bin/python"])
    assert ((copy / "pip.conf").is_symlink(), (copy / "own.conf").exists()) == (True, False)


def test_a_project_whose_environment_is_made_anew_is_freed_by_the_marks(
    marks: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    project = Path(marks["$HERE"], "pyproject.toml")
    project.write_text(PROJECT, "utf-8")
    environment = Path(shutil.copytree(marks["$TARGET"], project.with_name(".venv"), symlinks=True))
    done(capsys, "pin", "--python", f"{environment}/bin/python")
    shutil.rmtree(environment / "share")

    assert str(project) in unpin(str(environment), None)
    assert project.read_text("utf-8") == PROJECT


def test_a_project_that_is_not_toml_is_named(marks: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(marks["$HERE"], "mine.toml").write_text("[project\n", "utf-8")

    assert main(["extras", "--write", "mine.toml"]) == 1
    assert capsys.readouterr().err.startswith("error: mine.toml is not TOML: ")
