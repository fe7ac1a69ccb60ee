"""Which project `torchpick pin` writes into: never the one that torchpick itself runs from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment.targets import Target
from torchpick.errors import TorchpickError, UsageError
from torchpick.install import pin


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """An environment in a folder with a project."""
    tmp_path.joinpath("pyproject.toml").write_text("")
    return Target(str(tmp_path / ".venv/bin/python"), "3.12", str(tmp_path / ".venv"), ())


@pytest.mark.parametrize("place", ["src/torchpick/install/pin.py", "torchpick/install/pin.py"])
def test_the_project_that_torchpick_runs_from_is_left_alone(
    place: str, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "pyproject.toml")
    assert pin._project(target, None) == pin._project(target, file) == file

    monkeypatch.setattr(pin, "__file__", str(tmp_path / place))

    assert pin._project(target, None) is None
    with pytest.raises(UsageError, match="is the project that torchpick runs from"):
        pin._project(target, file)


def test_a_project_that_is_named_must_be_there(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert pin._project(target, "pyproject.toml") == str(tmp_path / "pyproject.toml")
    assert pin._project(target, "") is None
    os.unlink("pyproject.toml")

    assert pin._project(target, None) is None
    with pytest.raises(TorchpickError, match=r"there is no pyproject\.toml"):
        pin._project(target, "pyproject.toml")
