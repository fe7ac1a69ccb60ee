"""The loopback host, with no proxy and no netrc between it and the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.wheels.server import Host, serving
from torchpick.wheels import web

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as found:
        yield found


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with web.client() as found:
        yield found
