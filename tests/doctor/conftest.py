"""A made-up environment for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.fakes import pythons


@pytest.fixture(scope="module", autouse=True)
def _one_python() -> Iterator[None]:
    with pythons.asked_once():
        yield


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / ".venv")
