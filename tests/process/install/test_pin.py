"""`pin` and `unpin` in the hands of real pip and uv, which never heard of torchpick."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.install.conftest import World

PROJECT = '# mine\n[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.10"\ndependencies = []\n'
PIP_CONF = "# mine\n[global]\ntimeout = 60\n[install]\nfind-links = {links}\n"


def pin(world: World, python: Path, *words: str) -> list[str]:
    done = world.torchpick("pin", *words, "--gpu", "sm_61", "--driver", "580.95.05", python=python)
    return done.stdout.splitlines()


def plain_environment(world: World, name: str) -> Path:
    """An environment and a pip.conf of its own, whose find-links holds a wheel that is nowhere else."""
    python = world.environment(name)
    own = world.folder / "own wheels"
    own.mkdir(exist_ok=True)
    prefix = python.parent.parent
    (prefix / "pip.conf").write_text(PIP_CONF.format(links=own.as_uri()), "utf-8")
    return python


@pytest.mark.parametrize("name", ["pip", pytest.param("pip-22.3", marks=pytest.mark.long)])
def test_plain_pip_takes_the_pinned_torch_below_somebody_elses_package(world: World, name: str) -> None:
    if name not in world.installers.pips:
        pytest.skip(f"no {name} for this Python")
    python = plain_environment(world, name)
    prefix = python.parent.parent
    before = (prefix / "pip.conf").read_bytes()

    touched = pin(world, python)
    world.run([python, "-m", "pip", "install", "accelerate"])

    assert touched == [str(prefix / "pip.conf")]
    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert world.sources()["torch"] == {"wheel host"}
    assert world.sources()["numpy"] == {"user"}
    assert (world.folder / "own wheels").as_uri() in (prefix / "pip.conf").read_text("utf-8")

    world.run([python, "-m", "pip", "install", "-U", "torch", "accelerate"])
    assert world.installed(python)["torch"] == "2.14.1+cu126"

    world.torchpick("unpin", python=python)
    assert (prefix / "pip.conf").read_bytes() == before
    assert not (prefix / "share" / "torchpick").exists()
    world.run([python, "-m", "pip", "install", "-U", "torch"])
    assert world.installed(python)["torch"] == "2.15.0"


def test_a_pinned_environment_is_no_hindrance_to_torchpick(world: World) -> None:
    python = world.environment("pip")
    pin(world, python, "torch==2.9.1")

    world.install("torch", python=python)

    assert world.installed(python)["torch"] == "2.14.1+cu126"


@pytest.fixture
def uv_project(world: World) -> tuple[Path, Path]:
    folder = world.folder / "app"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT, "utf-8")
    environment = world.installers.environment(folder / ".venv", "uv")
    return folder, environment


def test_uv_takes_the_pinned_torch_in_a_pinned_project(world: World, uv_project: tuple[Path, Path]) -> None:
    folder, python = uv_project
    uv = world.installers.uv

    touched = pin(world, python)
    world.run([uv, "add", "accelerate"], cwd=folder)

    assert touched == [str(python.parent.parent / "pip.conf"), str(folder / "pyproject.toml")]
    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert world.sources()["torch"] == {"wheel host"}
    assert world.sources()["numpy"] == {"user"}

    world.run([uv, "pip", "install", "-U", "torchvision", "accelerate"], cwd=folder)
    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert world.installed(python)["torchvision"] == "0.29.1+cu126"

    world.torchpick("unpin", python=python)
    left = (folder / "pyproject.toml").read_text("utf-8")
    assert "torchpick" not in left
    assert left.startswith("# mine\n")
    assert '"accelerate>=1.0"' in left
