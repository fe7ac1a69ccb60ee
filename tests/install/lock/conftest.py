"""The shipped table's rules, read once."""

from __future__ import annotations

import pytest

from torchpick.knowledge import compat
from torchpick.model.table import Table


@pytest.fixture(scope="session")
def rules() -> Table:
    return compat.rules({})
