"""The loopback host and a client for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.index.server import Host, serving
from torchpick.index.client import Client, Limits


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as found:
        yield found


# The limits of the product, a hundred times shorter where a test waits for them.
QUICK = Limits(connect=1.0, silence=1.5, total=4.0, grace=1.0)


@pytest.fixture
def client() -> Iterator[Client]:
    """With the product's own deadlines, which a busy machine does not reach, and no pauses."""
    with Client(sleep=lambda _: None) as found:
        yield found
