from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import distributions, world
from torchpick.environment.distributions import Environment
from torchpick.errors import InstallerError, TorchpickError
from torchpick.install.installers import find_pip
from torchpick.model.machine import Python


def target(folder: Path, *installed: str) -> Environment:
    site = folder / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    folder.joinpath("pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.4\n", "utf-8")
    for name in installed:
        site.joinpath(name).mkdir()
    return read(folder)


def read(folder: Path, version: str = "3.12", **environ: str) -> Environment:
    python = Python(version, executable=str(folder / "bin" / "python"))
    return distributions.read_environment(python, environ, acts=True, metadata=False)


def test_an_environment_of_a_tool_is_refused(tmp_path: Path) -> None:
    found = target(tmp_path)._replace(tool="pipx")
    assert found.python.exact == "3.12.4"

    with pytest.raises(InstallerError, match="pipx keeps for one program") as caught:
        distributions.check_installable(found, ())
    assert "--python" in str(caught.value.hint)


def test_a_managed_environment_is_refused_unless_one_insists(tmp_path: Path) -> None:
    found = target(tmp_path)._replace(managed="This environment is externally managed")

    with pytest.raises(InstallerError, match="externally managed") as caught:
        distributions.check_installable(found, ("--no-cache", "--user"))
    assert caught.value.code == "EXTERNALLY_MANAGED"


def test_the_words_of_a_managed_environment(tmp_path: Path) -> None:
    """As of conda's base, where the file may lie too."""
    (tmp_path / "conda-meta").mkdir()
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    file = site.parent / "EXTERNALLY-MANAGED"

    def managed() -> str | None:
        return read(tmp_path).managed

    assert managed() is None
    file.write_text("[externally-managed]\nError=To install, use apt\n or a venv\n", "utf-8")
    assert managed() == "To install, use apt"
    file.write_text("", "utf-8")
    assert managed() == "the system's package manager owns it"
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n", "utf-8")
    assert managed() is None


@pytest.mark.process
@pytest.mark.parametrize("script", ["exit 3", "echo nonsense", "echo '[]'", "echo '{}'"])
def test_a_python_that_gives_no_answer_is_said(tmp_path: Path, script: str) -> None:
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)

    with pytest.raises(TorchpickError) as caught:
        read(tmp_path)
    assert caught.value.code == "BROKEN_PYTHON"
    with pytest.raises(TorchpickError):  # a question asks it too, as it lies in no folder of a project
        distributions.read_environment(Python("3.12", executable=str(program)), {})


def test_commands_are_looked_for_in_absolute_places_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("uv").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)

    tmp_path.joinpath("data").mkdir()
    tmp_path.joinpath("data", "uv").touch(mode=0o644)  # it cannot be run

    assert world.which("uv", {"PATH": f".::{tmp_path}/data:{tmp_path}"}) == str(tmp_path / "uv")
    assert world.which("uv", {"PATH": ".:"}) is None
    assert world.which("uv", {}) is None


def test_the_pip_beside_torchpick_serves_a_target_without(tmp_path: Path) -> None:
    found = target(tmp_path)

    made = find_pip(found, "/own/python", "22.3")

    assert made is not None
    assert made.argv[0] == "/own/python"
    assert made.argv[-2:] == ("--python", found.program)
    assert find_pip(found, None, None) is None
    with pytest.raises(InstallerError, match=r"22\.3"):
        find_pip(found, "/own/python", "22.2.2")


def test_of_two_folders_the_first_has_the_project_and_an_empty_torch_says_no_cuda(tmp_path: Path) -> None:
    for folder, version in (("a", "1.0"), ("b", "2.0")):
        (tmp_path / folder / f"thing-{version}.dist-info").mkdir(parents=True)
    folders = (str(tmp_path / "none"), str(tmp_path / "a"), str(tmp_path / "b"))
    (tmp_path / "b" / "torch").mkdir()
    (tmp_path / "b" / "torch" / "version.py").write_text('cuda: str = "12.8"\n', "utf-8")

    first = distributions.find_installed("thing", folders)

    assert first is not None
    assert (first.version, first.folder) == ("1.0", folders[1])
    assert distributions.find_installed("other", folders) is None
    assert distributions.torch_facts(folders).cuda == "12.8"
    assert distributions.torch_facts(folders[:2]).cuda is None


@pytest.mark.parametrize("word", ["--break-system-packages", "--target=x", "-t", "--prefix", "--prefix=/x"])
def test_a_managed_environment_does_not_matter_to_what_goes_elsewhere(tmp_path: Path, word: str) -> None:
    distributions.check_installable(target(tmp_path)._replace(managed="it is"), (word, "x"))
    with pytest.raises(InstallerError, match="is an environment that pipx keeps"):
        distributions.check_installable(target(tmp_path / "other")._replace(tool="pipx"), (word, "x"))
