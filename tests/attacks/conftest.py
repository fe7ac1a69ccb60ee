"""The same world on loopback as for the tests of installing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.conftest import authority
from tests.process.install.conftest import installers, newest, world

__all__ = ["authority", "installers", "newest", "world"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(str(item.path)).parent == Path(__file__).parent and "world" in getattr(item, "fixturenames", ()):
            for mark in ("process", "network"):
                item.add_marker(getattr(pytest.mark, mark))
