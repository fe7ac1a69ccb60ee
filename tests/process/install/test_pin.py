"""`pin` and `unpin` in the hands of real pip and uv, which never heard of torchpick."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.process.install.conftest import World
from tests.skips import needs_root

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


def test_pinning_again_replaces_and_one_unpin_undoes_both(world: World) -> None:
    python = plain_environment(world, "pip")
    conf = python.parent.parent / "pip.conf"
    before = conf.read_bytes()

    pin(world, python, "torch==2.9.1")
    pin(world, python, "torch==2.7.1")
    world.run([python, "-m", "pip", "install", "torch"])
    world.torchpick("unpin", python=python)

    assert world.installed(python)["torch"] == "2.7.1+cu126"
    assert conf.read_bytes() == before


def test_pips_own_editor_loses_the_marks_and_unpin_still_finds_ours(world: World) -> None:
    python = plain_environment(world, "pip")
    conf = python.parent.parent / "pip.conf"
    pin(world, python)
    world.run([python, "-m", "pip", "config", "--site", "set", "global.timeout", "99"])
    assert "torchpick pin" not in conf.read_text("utf-8")

    world.torchpick("unpin", python=python)

    assert "share/torchpick" not in conf.read_text("utf-8")
    assert "99" in conf.read_text("utf-8")
    world.run([python, "-m", "pip", "install", "numpy"])


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


def test_an_unused_pin_of_a_project_leaves_no_byte(world: World, uv_project: tuple[Path, Path]) -> None:
    folder, python = uv_project
    pin(world, python)

    world.torchpick("unpin", python=python)

    assert (folder / "pyproject.toml").read_text("utf-8") == PROJECT
    assert not (python.parent.parent / "pip.conf").exists()


def test_a_project_without_its_old_environment_is_unpinned_by_the_marks(
    world: World, uv_project: tuple[Path, Path]
) -> None:
    folder, python = uv_project
    pin(world, python)
    shutil.rmtree(folder / ".venv")
    python = world.installers.environment(folder / ".venv", "uv")

    world.torchpick("unpin", python=python)

    assert (folder / "pyproject.toml").read_text("utf-8") == PROJECT


def test_what_the_project_says_otherwise_is_shown_and_nothing_is_touched(
    world: World, uv_project: tuple[Path, Path]
) -> None:
    folder, python = uv_project
    text = PROJECT + '\n[tool.uv.sources]\ntorch = { git = "https://x.example" }\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")

    done = world.torchpick("pin", "--gpu", "sm_61", "--driver", "580.95.05", python=python, status=1)

    assert "tool.uv.sources.torch" in done.stderr
    assert (folder / "pyproject.toml").read_text("utf-8") == text
    assert not (python.parent.parent / "pip.conf").exists()

    done = world.torchpick("pin", "--no-project", "--gpu", "sm_61", "--driver", "580.95.05", python=python)
    assert done.stdout.splitlines() == [str(python.parent.parent / "pip.conf")]
    assert "uv keeps no settings for one environment" in done.stderr


def test_a_conda_environment_is_pinned_for_pip_and_uv_is_given_the_variables(world: World) -> None:
    python = world.environment("pip")
    (python.parent.parent / "conda-meta").mkdir()

    done = world.torchpick("pin", "--gpu", "sm_61", "--driver", "580.95.05", python=python)

    assert done.stdout.splitlines() == [str(python.parent.parent / "pip.conf")]
    assert 'eval "$(torchpick env)"' in done.stderr


@needs_root
def test_root_pins_what_belongs_to_somebody_else_and_it_stays_theirs(world: World) -> None:
    python = plain_environment(world, "pip")
    conf = python.parent.parent / "pip.conf"
    conf.chmod(0o640)
    os.chown(conf, 1234, 4321)
    owners = []

    pin(world, python)
    owners.append((conf.stat().st_uid, conf.stat().st_gid, conf.stat().st_mode & 0o777))
    world.torchpick("unpin", python=python)
    owners.append((conf.stat().st_uid, conf.stat().st_gid, conf.stat().st_mode & 0o777))

    assert owners == [(1234, 4321, 0o640)] * 2


def test_a_copy_of_a_pinned_environment_is_unpinned_alone(world: World) -> None:
    python = plain_environment(world, "pip")
    first, second = python.parent.parent, world.folder / "copy"
    pin(world, python)
    shutil.copytree(first, second, symlinks=True)

    world.torchpick("unpin", python=second / "bin" / "python")

    assert "torchpick" in (first / "pip.conf").read_text("utf-8")
    assert (first / "share" / "torchpick" / "pin.json").exists()
    assert "torchpick" not in (second / "pip.conf").read_text("utf-8")


@pytest.mark.parametrize("override", ["torch==2.10.0", "torchvision<0.29"])
def test_an_override_that_would_undo_the_pin_is_refused_before_anything_is_touched(world: World, override: str) -> None:
    python = world.environment("uv")
    folder = world.folder / "app"
    folder.mkdir()
    file = folder / "pyproject.toml"
    file.write_text(f'{PROJECT}\n[tool.uv]\noverride-dependencies = ["{override}"] # mine\n', "utf-8")
    before = file.read_text("utf-8")
    words = ("pin", "--project", str(file), "--gpu", "sm_61", "--driver", "580.95.05")

    done = world.torchpick(*words, python=python, status=1)

    assert f'tool.uv.override-dependencies has "{override}"' in done.stderr
    assert file.read_text("utf-8") == before
    assert not (python.parent.parent / "pip.conf").exists()
