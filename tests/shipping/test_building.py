"""The wheel is built out of the source archive: whoever tests it tests both."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from scripts.shipping import building

ROOT = Path(__file__).parents[2]
PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "some"
version = "1.0"
[tool.hatch.build.targets.sdist]
exclude = ["forgotten.py"]
"""
pytestmark = pytest.mark.process


def test_the_wheel_is_that_of_the_checkout(tmp_path: Path) -> None:
    """Whoever builds from a checkout (conda, an image) gets what is published."""
    _, published = building.distributions(ROOT, tmp_path / "published")

    own = building.wheel(ROOT, tmp_path / "own", building.epoch(ROOT))

    assert building.differences([published], [own]) == []


def test_what_the_source_archive_lacks_the_wheel_lacks(tmp_path: Path) -> None:
    package = tmp_path / "project" / "some"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(PROJECT, "utf-8")
    for name in ("__init__.py", "forgotten.py"):
        (package / name).touch()

    _, wheel = building.distributions(package.parent, tmp_path / "dist")

    modules = [name for name in ZipFile(wheel).namelist() if name.endswith(".py")]
    assert modules == ["some/__init__.py"]
