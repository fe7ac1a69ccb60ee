"""What every test starts from: an environment without torchpick's, pip's and uv's variables, and a table in memory."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

CLEARED = ("TORCHPICK_", "PIP_", "UV_", "NV_VARIANT_", "VIRTUAL_ENV", "CONDA_")
CLEARED_NAMES = ("CUDA_VISIBLE_DEVICES", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LD_LIBRARY_PATH", "LD_PRELOAD")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(CLEARED) or name in CLEARED_NAMES:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "no-cache"))
