"""Where an environment keeps its settings, told for every system on any."""

from __future__ import annotations

import pytest

from torchpick.environment import settings_places


@pytest.mark.parametrize(
    ("prefix", "system", "pip", "journal"),
    [
        ("/home/me/.venv", "linux", "/home/me/.venv/pip.conf", "/home/me/.venv/share/torchpick/pin.json"),
        ("/Users/me/v", "darwin", "/Users/me/v/pip.conf", "/Users/me/v/share/torchpick/pin.json"),
        (r"C:\Users\me\v", "win32", r"C:\Users\me\v\pip.ini", r"C:\Users\me\v\share\torchpick\pin.json"),
    ],
)
def test_places(prefix: str, system: str, pip: str, journal: str) -> None:
    found = settings_places.of(prefix, system)

    assert (found.pip, found.journal) == (pip, journal)


@pytest.mark.parametrize(
    ("prefix", "system", "project"),
    [
        ("/src/app/.venv", "linux", "/src/app/pyproject.toml"),
        ("/src/app/.venv/", "linux", "/src/app/pyproject.toml"),
        ("C:\\app\\.venv", "win32", "C:\\app\\pyproject.toml"),
        ("C:\\app\\.venv\\", "win32", "C:\\app\\pyproject.toml"),
        ("/opt/conda/envs/ml", "linux", None),
        ("/src/app/venv", "linux", None),
    ],
)
def test_a_projects_own_environment(prefix: str, system: str, project: str | None) -> None:
    assert settings_places.project_of(prefix, system) == project
