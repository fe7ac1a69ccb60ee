"""Which project `torchpick pin` writes into: never torchpick's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from torchpick.errors import TorchpickError, UsageError
from torchpick.install.pin import project_of, unpin


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """An environment in a folder with a project."""
    tmp_path.joinpath("pyproject.toml").write_text("", "utf-8")
    return str(tmp_path / ".venv")


def test_torchpicks_own_project_is_left_alone(prefix: str, tmp_path: Path) -> None:
    file = str(tmp_path / "pyproject.toml")
    assert project_of(prefix, None) == project_of(prefix, file) == file

    (tmp_path / "src" / "torchpick").mkdir(parents=True)
    (tmp_path / "src" / "torchpick" / "__init__.py").touch()

    assert project_of(prefix, None) is None
    with pytest.raises(UsageError, match="is torchpick's own project"):
        project_of(prefix, file)


def test_a_project_that_is_named_must_be_there(prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_of(prefix, "pyproject.toml") == str(tmp_path / "pyproject.toml")
    assert project_of(prefix, "") is None
    os.unlink("pyproject.toml")

    assert project_of(prefix, None) is None
    with pytest.raises(TorchpickError, match=r"there is no pyproject\.toml"):
        project_of(prefix, "pyproject.toml")


def test_unpin_takes_our_lines_out_of_the_named_project_and_writes_nothing_else(tmp_path: Path) -> None:
    """Whoever may write the record could else have any file replaced."""
    prefix, victim = tmp_path / "venv", tmp_path / "victim.conf"
    record = prefix / "share" / "torchpick" / "pin.json"
    marked = "mine\nx = 1 # torchpick pin\n"
    for file, after in ((victim, marked), (tmp_path / "app.toml", "mine\n")):
        file.write_text(marked, "utf-8")
        record.parent.mkdir(parents=True)
        entries = [{"file": str(file), "before": "theirs", "before_hash": "", "after_hash": ""}]
        text = {"schema": 1, "environment": str(prefix), "project": str(file), "files": entries}
        record.write_text(json.dumps(text), "utf-8")

        unpin(str(prefix), None)

        assert file.read_text("utf-8") == after
        assert not record.exists()
