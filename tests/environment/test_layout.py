"""What an environment's files say of it, and what an interpreter's answer must hold."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from torchpick.environment import child, distributions, guard, interpreter
from torchpick.environment.distributions import Environment
from torchpick.errors import TorchpickError
from torchpick.model.fields import ShapeError
from torchpick.model.machine import Python

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments have other folders on Windows")


def environment(
    root: Path, config: str | None = "home = /usr/bin\nversion = 3.12.4\n", name: str = "python3.12"
) -> str:
    packages = root / "lib" / name / "site-packages"
    packages.mkdir(parents=True)
    if config is not None:
        (root / "pyvenv.cfg").write_text(config, "utf-8")
    return str(packages)


def test_what_is_written_of_an_environment_that_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = environment(tmp_path / "full" / ".venv")
    bare_folder = tmp_path / "bare" / ".venv"
    bare_folder.mkdir(parents=True)
    (bare_folder / "pyvenv.cfg").touch()

    read = []
    for folder in (tmp_path / "full", tmp_path / "bare"):
        monkeypatch.chdir(folder)
        read.append(distributions.read_environment(str(folder / ".venv"), {}))
    full, bare = read

    assert (full.python.executable, full.python.version, full.sites) == (None, "3.12", (packages,))
    own = Python(f"{sys.version_info[0]}.{sys.version_info[1]}")  # nothing says which: as torchpick's own
    assert bare == Environment(own._replace(source="given"), str(bare_folder))


@pytest.mark.parametrize(
    ("settings", "name", "tag"),
    [
        ("implementation = PyPy\n", "python3.10", "pp310"), ("", "pypy3.10", "pp310"), ("", "python3.10", "cp310"),
        ("executable = C:\\Python\\Python3.10t.EXE\n", "python3.10", "cp310t"), ("", "python3.10t", "cp310t"),
    ],
)  # fmt: skip
def test_the_kind_of_a_python_that_is_not_started(settings: str, name: str, tag: str, tmp_path: Path) -> None:
    environment(tmp_path, f"version_info = 3.10.4.final.0\nversion = 3.9.9\n{settings}", name)

    found = interpreter.python_by_files(str(tmp_path), "x")
    assert (found.tag, found.exact) == (tag, "3.10.4")


@pytest.mark.parametrize("version", [[3], [3, 12, 4], ["3", "12"], [3, -1], [1000, 0], "3.12", None])
def test_an_answer_without_a_version_is_none(version: object) -> None:
    with pytest.raises(ShapeError):
        interpreter.read_answer(json.dumps({"version": version}).encode(), "python")


@pytest.mark.parametrize("said", [b"", b"\n", b"[]", b"\xff", b'{"version": [3, 12]}\nlast words'])
def test_what_is_no_answer_is_none(said: bytes) -> None:
    with pytest.raises(ShapeError):
        interpreter.read_answer(said, "python")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_an_interpreter_whose_settings_are_a_pipe_is_broken_before_it_is_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyvenv.cfg")

    with pytest.raises(TorchpickError, match="which is not a file") as caught:
        interpreter.ask(str(tmp_path / "bin" / "python"), {}, 0.0)
    assert caught.value.code == "BROKEN_PYTHON"


@pytest.mark.process
@pytest.mark.parametrize("lacks", ["prefix", "free_threaded", "stdlib", "packages", ""])
def test_an_interpreter_that_leaves_something_out_is_broken(lacks: str, tmp_path: Path) -> None:
    said: dict[str, object] = {
        "version": [3, 14], "full_version": "3.14.2", "implementation": "cpython", "free_threaded": False,
        "prefix": "/p", "stdlib": "/l", "packages": [], "sites": [], "base_sites": [], "user": "/u",
        "system": "linux", "cpu": "x86_64", "wide": True,
    }  # fmt: skip
    for folder, version in (("a", "1.0"), ("b", "2.0")):
        (tmp_path / folder / f"thing-{version}.dist-info").mkdir(parents=True)
    said |= {key: [str(tmp_path / "a"), str(tmp_path / "b")] for key in ("packages", "sites")}
    said = {key: value for key, value in said.items() if key != lacks}
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(said)}\nEND\n", "utf-8")
    program.chmod(0o755)

    if not lacks:  # of two folders the first has the project
        found = distributions.read_environment(str(program), {})
        assert (found.installed, found.python.version) == ({"thing": "1.0"}, "3.14")
        return
    with pytest.raises(TorchpickError, match=lacks) as caught:
        distributions.locate(str(program), {})
    assert caught.value.code == "BROKEN_PYTHON"


def test_of_an_answer_that_was_cut_the_whole_lines_count() -> None:
    assert child.ChildResult(None, b'1\n{"a": 2}\n[3', b"a\n b \n\n").values == [1, {"a": 2}]
    assert child.ChildResult(None, b"", b"a\n b \n\n").last_words == "b"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux forks")
def test_a_process_with_another_thread_is_not_forked() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert not guard.can_fork()
    finally:
        over.set()
        thread.join()
