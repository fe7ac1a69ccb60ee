"""The same world on loopback as for the tests of installing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import project
from tests.process.conftest import authority
from tests.process.install.conftest import installers, newest, world

__all__ = ["authority", "installers", "newest", "world"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one's own, which is the current folder."""
    project.made(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(str(item.path)).parent == Path(__file__).parent and "world" in getattr(item, "fixturenames", ()):
            for mark in ("process", "network"):
                item.add_marker(getattr(pytest.mark, mark))
