"""Made-up environments lead to this Python, which says the same of itself each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes import pythons


@pytest.fixture(scope="module", autouse=True)
def _one_python() -> Iterator[None]:
    with pythons.asked_once():
        yield
