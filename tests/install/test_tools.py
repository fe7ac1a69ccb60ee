"""Which uv and which pip are used, told by their files alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchpick.environment.distributions import Environment
from torchpick.errors import InstallerError
from torchpick.install.installers import PipInstaller, find_pip, find_uv, pip_beside
from torchpick.model.machine import Python

TARGET = Environment(Python("3.12", executable="/env/bin/python"), "/env")


def program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "uv"
    path.write_text("#!/bin/sh\n", "utf-8")
    path.chmod(0o755)
    return path


def beside_torchpick(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A uv package in the environment that torchpick runs in."""
    site = folder / "site"
    (site / "uv").mkdir(parents=True)
    (site / "uv" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", ["", str(site)])
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setitem(sys.modules, "uv", None)  # what is imported in its place goes with the test
    del sys.modules["uv"]
    return program(folder / "bin")


def test_the_uv_beside_torchpick_comes_first_then_the_named_one_then_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = beside_torchpick(tmp_path / "own", monkeypatch)
    named, on_path = program(tmp_path / "named"), program(tmp_path / "path")
    environ = {"UV": str(named), "PATH": str(on_path.parent)}

    assert find_uv(environ) == str(module)
    module.chmod(0o644)
    assert find_uv(environ) == str(named)
    module.chmod(0o755)
    monkeypatch.setitem(sys.modules, "uv", None)
    assert find_uv(environ) == str(named)
    named.chmod(0o644)
    assert find_uv(environ) == str(on_path)
    on_path.unlink()
    assert find_uv(environ) is None


def test_a_pip_is_started_without_the_current_folder(tmp_path: Path) -> None:
    """`-P` is of Python 3.11; an older one is given pip's own folder, or at the least nothing of the surroundings."""
    old = TARGET._replace(
        python=Python("3.10", executable="/env/bin/python"), installed={"pip": "26.3"}, packages=("", str(tmp_path))
    )
    isolated = find_pip(old, None, None)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__main__.py").touch()

    assert isolated == PipInstaller(("/env/bin/python", "-I", "-m", "pip"), "26.3")
    assert find_pip(old, None, None) == PipInstaller(("/env/bin/python", str(tmp_path / "pip")), "26.3")


@pytest.mark.parametrize(
    ("own", "beside", "whose", "oldest"),
    [
        *(({"pip": version}, "26.3", "/env", r"22\.2") for version in ("22.1.2", "9", "nonsense")),
        ({}, "22.2.9", "/own", r"22\.3"),  # its `--python` is of 22.3
    ],
)
def test_an_older_one_is_refused_with_what_to_do(own: dict[str, str], beside: str, whose: str, oldest: str) -> None:
    where = "in /env" if own else "beside torchpick"
    with pytest.raises(
        InstallerError, match=rf"the pip {where} is .*, and torchpick needs {oldest} or newer"
    ) as caught:
        find_pip(TARGET._replace(installed=own), "/own/bin/python", beside)

    assert caught.value.code == "OLD_INSTALLER"
    assert caught.value.hint == f"`{whose}/bin/python -m pip install -U pip`"


def test_the_pip_beside_torchpick_is_found_by_its_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "pip", raising=False)

    assert pip_beside() == (None, None)
    for name in ("pipdeptree-2.0.dist-info", "pip-26.3.dist-info", "pip-26.3.dist-info.bak"):
        (tmp_path / name).mkdir()
    assert pip_beside() == (sys.executable, "26.3")
    monkeypatch.setattr(sys, "executable", "")
    assert pip_beside() == (None, None)
    monkeypatch.setattr(sys, "path", [])
    assert pip_beside() == (None, None)
