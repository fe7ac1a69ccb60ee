"""A made-up environment for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.fakes import pythons
from torchpick.environment import child, interpreter


@pytest.fixture(scope="module", autouse=True)
def _one_python() -> Iterator[None]:
    with pythons.asked_once():
        yield


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / ".venv")


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The version of the one Python below this folder: which torch is the newest depends on it."""
    monkeypatch.setattr(interpreter, "running", pythons.made_up)
    monkeypatch.setattr(child, "run", pythons.answers(tmp_path, str(tmp_path)))
    return pythons.MADE_UP
