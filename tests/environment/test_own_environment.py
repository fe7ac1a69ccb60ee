"""Torchpick's own environment is a tool's: what is installed, pinned and examined is the folder's."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.doctor import examination
from torchpick.environment import interpreter
from torchpick.environment.interpreter import EnvironmentChoice
from torchpick.environment.world import World
from torchpick.errors import UsageError

SITE = (
    "Lib/site-packages" if os.name == "nt" else f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
)
ACTIVE = "the active virtual environment"


def venv(folder: Path, *packages: str) -> Path:
    """An environment with these packages in it."""
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").touch()
    for name in packages:
        (folder / SITE / f"{name}-26.3.dist-info").mkdir(parents=True)
    return folder


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in whose environment torchpick runs, and beside it a folder of somebody's."""
    sources = tmp_path / "torchpick" / "src" / "torchpick"
    sources.mkdir(parents=True)
    (sources / "__init__.py").touch()
    (tmp_path / "torchpick" / "pyproject.toml").touch()
    own = venv(tmp_path / "torchpick" / ".venv", "torchpick_cli", "httpx", "pip", "torch")
    monkeypatch.setattr(sys, "prefix", str(own))
    (tmp_path / "mine" / "below").mkdir(parents=True)
    return tmp_path / "torchpick"


def world(folder: Path, active: Path | None = None, path: str = "/nowhere") -> World:
    environ = {"PATH": path, **({"VIRTUAL_ENV": str(active)} if active else {})}
    return World("/", environ, str(folder), sys.platform)


def source_of(where: World) -> tuple[str | None, str]:
    found = interpreter.choose(None, where, time.monotonic() + 10).python
    return found.executable, found.source


def lock(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "0"\n', "utf-8")
    (folder / "uv.lock").touch()
    return folder


def test_elsewhere_it_is_not_and_the_folders_own_is(checkout: Path, tmp_path: Path) -> None:
    own, below = checkout / ".venv", tmp_path / "mine" / "below"
    for active in (own, None):
        assert interpreter.find_environment(world(below, active)) is None
    assert [interpreter.own_tool(world(folder)) for folder in (below, checkout / "src")] == ["checkout", None]

    near = venv(tmp_path / "mine" / ".venv")

    for active in (own, None):
        assert interpreter.find_environment(world(below, active)) == EnvironmentChoice(
            str(near), ".venv", lies_in_a_folder=True
        )
        assert examination.target(None, world(below, active).environ, str(below)).python == str(near)


def test_where_it_is_active_and_nothing_is_here_no_python_of_path_is_meant(checkout: Path, tmp_path: Path) -> None:
    own, here = checkout / ".venv", tmp_path / "mine"
    path = str(venv(tmp_path / "other") / "bin")
    (tmp_path / "other" / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    assert interpreter.on_path({"PATH": f"{own}/bin:{path}"}) == [f"{path}/python3", f"{path}/python"]
    (tmp_path / "other" / "bin" / "python3").unlink()
    why = "what is active is torchpick's own environment: make one here with `python3 -m venv .venv`"

    assert source_of(world(here, own, path)) == (None, why)
    with pytest.raises(UsageError, match="what is active is torchpick's own environment") as caught:
        examination.target(None, world(here, own, path).environ, str(here))
    assert caught.value.code == "NO_TARGET"
    assert source_of(world(here, None, path))[0] == f"{path}/python"
    (own / "uv-receipt.toml").touch()  # a tool's, which runs with its own environment active
    assert source_of(world(here, own, path))[0] == f"{path}/python"


def test_an_environment_that_uv_has_yet_to_make_is_the_target(checkout: Path, tmp_path: Path) -> None:
    here, path = lock(tmp_path / "mine"), str(venv(tmp_path / "other") / "bin")
    commands = f"`torchpick extras --for app --write {here}/pyproject.toml` and `torchpick run uv sync`"
    why = f"{here}/.venv is not there yet: {commands} make it with this machine's torch"

    (here / "below" / "uv.lock").touch()  # no project's

    for active in (checkout / ".venv", None):
        assert source_of(world(here / "below", active, path)) == (None, why)
        with pytest.raises(UsageError, match="`torchpick run uv sync` make it"):
            examination.target(None, world(here, active, path).environ, str(here))


# What comes with torchpick, by Python and by tool, and what an environment is made with.
ALONE = (
    "anyio", "certifi", "exceptiongroup", "h11", "httpcore", "idna", "nvidia_ml_py", "packaging", "tomli", "tomlkit",
    "typing_extensions", "setuptools", "uv", "wheel",
)  # fmt: skip


@pytest.mark.parametrize(("more", "yields"), [((), True), (ALONE, True), (("requests",), False)])
def test_one_that_holds_torchpick_alone_gives_way_to_the_project_of_the_folder(
    more: tuple[str, ...], yields: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    active, here = venv(tmp_path / "tools", "torchpick_cli", "httpx", "pip", *more), tmp_path / "mine"
    here.mkdir()
    monkeypatch.setattr(sys, "prefix", str(active))
    assert interpreter.find_environment(world(here, active)) == EnvironmentChoice(str(active), ACTIVE)

    found = interpreter.find_environment(world(lock(here), active))
    assert found == (None if yields else EnvironmentChoice(str(active), ACTIVE))
    near = venv(here / ".venv")
    found = interpreter.find_environment(world(here, active))
    assert found == (
        EnvironmentChoice(str(near), ".venv", lies_in_a_folder=True)
        if yields
        else EnvironmentChoice(str(active), ACTIVE)
    )

    if os.name != "nt" and yields:
        near.chmod(0o777)  # what others may write is not taken unasked
        (here / "uv.lock").unlink()
        assert interpreter.find_environment(world(here, active)) == EnvironmentChoice(str(active), ACTIVE)
    assert interpreter.own_tool(world(lock(here))) == ("torchpick" if yields else None)
    (active / "pyvenv.cfg").unlink()  # the Python of an image is no tool's
    assert interpreter.own_tool(world(here)) is None


def test_the_commands_in_another_folder_leave_the_checkout_as_it_is(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = checkout / ".venv"
    monkeypatch.chdir(lock(tmp_path / "mine"))
    monkeypatch.setenv("VIRTUAL_ENV", str(own))
    before = sorted(checkout.rglob("*"))

    for words, status in (
        ("pin", 2),
        ("install torch --dry-run", 2),
        ("doctor", 2),
    ):
        assert main([*words.split(), "--gpu", "none"]) == status
    assert capsys.readouterr().err.count("error: ") == 3

    monkeypatch.chdir(checkout)
    assert main(["pin", "--gpu", "none", "--cpu", "--project", "pyproject.toml"]) == 2
    assert "is torchpick's own project" in capsys.readouterr().err
    assert sorted(checkout.rglob("*")) == before
    assert (checkout / "pyproject.toml").read_text("utf-8") == ""


def test_an_installation_into_it_says_where_it_goes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = checkout / ".venv"
    monkeypatch.chdir(checkout)

    assert main(["install", "torch", "--dry-run", "--gpu", "none", "--python", str(own), "--offline"]) == 0

    assert f"this goes into torchpick's own environment, {own}" in " ".join(capsys.readouterr().err.split())
