"""What an environment's files say of it, and what an interpreter's answer must hold."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from torchpick.environment import distributions, interpreter
from torchpick.environment.distributions import Environment
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import ShapeError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments have other folders on Windows")


def environment(
    root: Path, config: str | None = "home = /usr/bin\nversion = 3.12.4\n", name: str = "python3.12"
) -> str:
    packages = root / "lib" / name / "site-packages"
    packages.mkdir(parents=True)
    if config is not None:
        (root / "pyvenv.cfg").write_text(config, "utf-8")
    return str(packages)


def read(root: Path, version: str, *, free_threaded: bool = False) -> Environment:
    """Nothing can be started in these."""
    return distributions.read_target(str(root / "bin" / "python"), version, free_threaded=free_threaded, environ={})


def test_a_free_threaded_one_and_a_conda_one_have_their_folders_too(tmp_path: Path) -> None:
    packages = environment(tmp_path, None, "python3.14t")
    with pytest.raises(UsageError, match="neither a Python nor"):  # neither an environment nor conda's
        read(tmp_path, "3.14", free_threaded=True)

    (tmp_path / "conda-meta").mkdir()

    found = read(tmp_path, "3.14", free_threaded=True)
    assert (found.packages, found.free_threaded, found.by_uv, found.full_version) == ((packages,), True, False, None)
    with pytest.raises(UsageError, match="neither a Python nor"):
        read(tmp_path, "3.14")


def test_what_is_written_of_an_environment_that_is_not_started(tmp_path: Path) -> None:
    packages = environment(tmp_path / "full")
    (tmp_path / "bare").mkdir()

    full, bare = (distributions.read_environment(str(tmp_path / name), {}, by_files=True) for name in ("full", "bare"))

    assert (full.executable, full.version, full.sites) == (None, "3.12", (packages,))
    assert bare == Environment(
        None, str(tmp_path / "bare"), f"{sys.version_info[0]}.{sys.version_info[1]}"
    )  # nothing says which: as torchpick's own


@pytest.mark.parametrize("version", [[3], [3, 12, 4], ["3", "12"], [3, -1], [1000, 0], "3.12", None])
def test_an_answer_without_a_version_is_none(version: object) -> None:
    with pytest.raises(ShapeError):
        interpreter.parse_answer(json.dumps({"version": version}).encode())


@pytest.mark.parametrize("said", [b"", b"\n", b"[]", b"\xff", b'{"version": [3, 12]}\nlast words'])
def test_what_is_no_answer_is_none(said: bytes) -> None:
    with pytest.raises(ShapeError):
        interpreter.parse_answer(said)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_an_interpreter_whose_settings_are_a_pipe_is_broken_before_it_is_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyvenv.cfg")

    with pytest.raises(TorchpickError, match="which is not a file") as caught:
        interpreter.ask(str(tmp_path / "bin" / "python"), {}, 0.0)
    assert caught.value.code == "BROKEN_PYTHON"


@pytest.mark.process
def test_what_an_interpreter_answers_is_its_layout(tmp_path: Path) -> None:
    sites = [str(tmp_path / name) for name in ("own", "base", "user")]
    for site in sites:
        os.mkdir(site)
    said = {
        "version": [3, 14], "full_version": "3.14.2", "implementation": "pypy", "free_threaded": True,
        "prefix": "/the/prefix", "stdlib": "/the/lib", "packages": [sites[0], sites[0], "/plat"],
        "sites": sites[:1], "base_sites": sites[1:2], "user": sites[2],
    }  # fmt: skip
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(said)}\nEND\n", "utf-8")
    program.chmod(0o755)

    found = distributions.locate(str(program), {"PYTHONNOUSERSITE": "1"})

    assert found == Environment(
        str(program), "/the/prefix", "3.14", "pp", True, "3.14.2", (sites[0],), (sites[0], "/plat")
    )
    assert distributions.locate(str(program), {}).sites == (sites[2], sites[0])
    (tmp_path / "pyvenv.cfg").write_text("include-system-site-packages = True\n", "utf-8")
    assert distributions.locate(str(tmp_path), {"PYTHONPATH": f":{sites[1]}:/none"}).sites == (
        sites[1],
        sites[0],
        sites[2],
    )


@pytest.mark.process
@pytest.mark.parametrize("lacks", ["prefix", "free_threaded", "stdlib", "packages"])
def test_an_interpreter_that_leaves_something_out_is_broken(lacks: str, tmp_path: Path) -> None:
    said: dict[str, object] = {
        "version": [3, 14], "full_version": "3.14.2", "implementation": "cpython", "free_threaded": False,
        "prefix": "/p", "stdlib": "/l", "packages": [], "sites": [], "base_sites": [], "user": "/u",
    }  # fmt: skip
    del said[lacks]
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(said)}\nEND\n", "utf-8")
    program.chmod(0o755)

    with pytest.raises(TorchpickError, match=lacks) as caught:
        distributions.locate(str(program), {})
    assert caught.value.code == "BROKEN_PYTHON"
