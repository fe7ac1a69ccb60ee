"""The shipped table's rules, read once; no proxy between a test and loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick import shipped
from torchpick.model.table import Table


@pytest.fixture(scope="session")
def rules() -> Table:
    return shipped.rules({})


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
