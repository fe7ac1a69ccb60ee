"""The loopback host and a client for it, as tests/index has them, and a made-up environment."""

from __future__ import annotations

from tests.doctor.conftest import home
from tests.index.conftest import client, host

__all__ = ["client", "home", "host"]
