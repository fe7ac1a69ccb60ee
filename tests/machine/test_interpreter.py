from __future__ import annotations

import os
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import child, interpreter
from torchpick.environment.interpreter import Interpreter
from torchpick.environment.world import World
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import ShapeError

OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def world(cwd: Path, **environ: str) -> World:
    return World("/", {"PATH": "/usr/bin:/bin", **environ}, str(cwd), sys.platform)


def choose(told: str | None, where: World) -> Interpreter:
    return interpreter.choose(told, where, time.monotonic() + 10)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / ".venv"
    venv.create(folder, symlinks=True)
    return folder


def test_nothing_told_and_nothing_active_is_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "start", None)
    found = choose(None, world(tmp_path))
    assert (found.python.version, found.python.executable) == (OURS, sys.executable)
    assert found.python.source == "the Python that runs torchpick"


def test_the_active_one_that_runs_torchpick_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "start", None)
    for name, source in (("VIRTUAL_ENV", "virtual"), ("CONDA_PREFIX", "conda")):
        found = choose(None, world(tmp_path, **{name: sys.prefix}))
        assert found.python.executable == sys.executable
        assert found.python.source == f"the active {source} environment"


@pytest.mark.parametrize(
    ("told", "version", "free_threaded"),
    [("3.12", "3.12", False), ("3.14t", "3.14", True), ("3.12.4", "3.12", False), ("3.7", "3.7", False)],
)
def test_a_told_version_needs_no_interpreter(
    tmp_path: Path, told: str, version: str, free_threaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "start", None)
    python = choose(told, world(tmp_path, VIRTUAL_ENV="/nowhere")).python
    assert (python.version, python.free_threaded, python.executable) == (version, free_threaded, None)
    assert python.source == "given"


@pytest.mark.process
class TestEnvironments:
    def test_told_by_folder_program_or_command(self, environment: Path, tmp_path: Path) -> None:
        program = str(environment / "bin/python")
        for told in (str(environment), program):
            assert choose(told, world(tmp_path)).python.executable == program
        found = choose("python", world(tmp_path, PATH=f":.:{environment}/bin"))
        assert found.python.executable == program
        assert choose(".venv", world(environment.parent)).python.executable == program
        assert choose("./.venv/bin/python", world(environment.parent)).python.version == OURS

    def test_the_active_one_goes_before_dot_venv(self, environment: Path, tmp_path: Path) -> None:
        inner = tmp_path / "inner"
        venv.create(inner, symlinks=True)
        found = choose(None, world(environment.parent, VIRTUAL_ENV=str(inner)))
        assert found.python.executable == str(inner / "bin/python")
        assert found.python.source == "the active virtual environment"

    def test_dot_venv_in_a_parent(self, environment: Path) -> None:
        deep = environment.parent / "a/b"
        deep.mkdir(parents=True, exist_ok=True)
        found = choose(None, world(deep))
        assert (found.python.executable, found.python.source) == (str(environment / "bin/python"), ".venv")
        assert found.platform == interpreter.running().platform

    @pytest.mark.parametrize(("name", "word"), [("base", "the active conda environment base"), ("ml", "environment")])
    def test_conda_and_its_base_is_named(self, environment: Path, tmp_path: Path, name: str, word: str) -> None:
        found = choose(None, world(tmp_path, CONDA_PREFIX=str(environment), CONDA_DEFAULT_ENV=name))
        assert word in found.python.source
        assert ("base" in found.python.source) == (name == "base")

    def test_an_environment_without_a_python_is_not_passed_over(self, tmp_path: Path) -> None:
        with pytest.raises(TorchpickError) as caught:
            choose(None, world(tmp_path, VIRTUAL_ENV=str(tmp_path / "gone")))
        assert "--python" in (caught.value.hint or "")
        assert caught.value.exit_status == 1

    @pytest.mark.parametrize(
        "body",
        [
            "exit 3",
            "echo nonsense",
            "echo '{\"version\": [3]}'",
            "echo '[1, 2]'",
            "kill -SEGV $$",
            "head -c 3000000 /dev/zero",
            "echo",
        ],
    )
    def test_a_broken_interpreter_is_said_to_be_broken(self, tmp_path: Path, body: str) -> None:
        program = script(tmp_path / "bin/python", body)
        with pytest.raises(UsageError, match=r"broken|answer"):
            choose(str(program), world(tmp_path))
        with pytest.raises(TorchpickError) as caught:
            choose(None, world(tmp_path, VIRTUAL_ENV=str(tmp_path)))
        assert caught.value.code == "BROKEN_PYTHON"

    def test_one_that_hangs_ends_with_the_deadline(self, tmp_path: Path) -> None:
        program = script(tmp_path / "bin/python", "sleep 60")
        began = time.monotonic()
        with pytest.raises(UsageError, match="in time"):
            interpreter.choose(str(program), world(tmp_path), began + 0.3)
        assert time.monotonic() - began < 30  # and not the 60 seconds that it sleeps

    def test_a_wrapper_that_prints_first(self, tmp_path: Path) -> None:
        program = script(tmp_path / "bin/python", f'echo "module loaded"; exec {sys.executable} "$@"')
        assert choose(str(program), world(tmp_path)).python.version == OURS

    def test_the_shells_python_variables_do_not_break_it(self, environment: Path, tmp_path: Path) -> None:
        found = choose(str(environment), world(tmp_path, PYTHONHOME="/nonsense", PYTHONPATH="/nonsense"))
        assert found.python.version == OURS

    def test_a_command_is_not_taken_from_the_current_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script(tmp_path / "python3.99", "exit 1")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match="neither a version"):
            choose("python3.99", world(tmp_path, PATH=":."))

    def test_not_a_program(self, tmp_path: Path) -> None:
        text = tmp_path / "notes.txt"
        text.write_text("hello", "utf-8")
        with pytest.raises(UsageError, match="does not start"):
            choose(str(text), world(tmp_path))
        with pytest.raises(UsageError, match="neither a version"):
            choose("no-such-python", world(tmp_path))
        with pytest.raises(UsageError, match="without an interpreter"):
            choose(str(tmp_path), world(tmp_path))

    def test_a_tools_own_environment_is_not_the_target(
        self, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(interpreter, "tool_environment", lambda _prefix: "pipx")
        found = choose(None, world(tmp_path, PATH=f"{environment}/bin"))
        assert found.python.executable == str(environment / "bin/python3")
        assert found.python.source == (
            f"{environment}/bin/python3 on PATH (torchpick itself runs in a pipx environment)"
        )
        nothing = choose(None, world(tmp_path, PATH=str(tmp_path)))
        own = interpreter.running()
        source = "the version of torchpick's own pipx environment, as there is no Python on PATH"
        assert nothing.python == own.python._replace(executable=None, source=source)
        assert nothing.platform == own.platform

    def test_one_on_path_that_does_not_start_gives_way_to_the_next(
        self, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(interpreter, "tool_environment", lambda _prefix: "pipx")
        script(tmp_path / "python3", "exit 1")
        (tmp_path / "python").symlink_to(environment / "bin" / "python")

        assert choose(None, world(tmp_path, PATH=str(tmp_path))).python.executable == str(tmp_path / "python")
        (tmp_path / "python").unlink()
        assert choose(None, world(tmp_path, PATH=str(tmp_path))).python.executable is None


@pytest.mark.parametrize(
    ("file", "tool"), [("uv-receipt.toml", "uv tool"), ("pipx_metadata.json", "pipx"), ("pyvenv.cfg", None)]
)
def test_tool_environments(tmp_path: Path, file: str, tool: str | None) -> None:
    (tmp_path / file).touch()
    assert interpreter.tool_environment(str(tmp_path)) == tool


def test_uvx_runs_from_uvs_cache() -> None:
    assert interpreter.tool_environment("/home/me/.cache/uv/archive-v0/hHg4iQKcNmOEctUV") == "uvx"
    assert interpreter.tool_environment("/home/me/archive/env") is None


def answer(**more: object) -> bytes:
    import json

    told: dict[str, object] = {
        "version": [3, 12],
        "implementation": "cpython",
        "free_threaded": False,
        "system": "linux",
        "cpu": "x86_64",
        "wide": True,
        "libc": "glibc 2.36",
        "soabi": "cpython-312-x86_64-linux-gnu",
    }
    return json.dumps({**told, **more}).encode()


@pytest.mark.parametrize(
    ("more", "tag", "platform"),
    [
        ({}, "cp312", ("linux", "x86_64", "2.36", "glibc")),
        ({"free_threaded": True, "version": [3, 14]}, "cp314t", ("linux", "x86_64", "2.36", "glibc")),
        ({"implementation": "pypy", "version": [3, 10]}, "pp310", ("linux", "x86_64", "2.36", "glibc")),
        ({"libc": None, "soabi": "cpython-312-x86_64-linux-musl"}, "cp312", ("linux", "x86_64", None, "musl")),
        ({"cpu": "aarch64"}, "cp312", ("linux", "aarch64", "2.36", "glibc")),
        ({"wide": False}, "cp312", ("linux", "i686", "2.36", "glibc")),
        ({"system": "win32", "cpu": "amd64", "libc": None}, "cp312", ("windows", "x86_64", None, None)),
        ({"system": "win32", "cpu": "arm64", "libc": None}, "cp312", ("windows", "arm64", None, None)),
        ({"system": "darwin", "cpu": "arm64", "libc": None}, "cp312", ("macos", "arm64", None, None)),
        ({"libc": "glibc 2.17 (something)"}, "cp312", ("linux", "x86_64", None, None)),
        ({"libc": "other 2.17"}, "cp312", ("linux", "x86_64", None, None)),
        ({"cpu": "arm64", "wide": False}, "cp312", ("linux", "armv7l", "2.36", "glibc")),
        ({"cpu": "AMD64", "soabi": None, "libc": ""}, "cp312", ("linux", "x86_64", None, None)),
        ({"cpu": "ppc64le", "wide": False}, "cp312", ("linux", "ppc64le", "2.36", "glibc")),
        ({"system": "cygwin", "cpu": "x86-64", "libc": None}, "cp312", ("windows", "x86_64", None, None)),
        ({"system": "darwin", "cpu": "aarch64", "libc": None}, "cp312", ("macos", "arm64", None, None)),
        ({"system": "win32", "cpu": "win32", "libc": None}, "cp312", ("windows", "i686", None, None)),
        ({"system": "freebsd14", "cpu": "amd64", "libc": None}, "cp312", ("freebsd", "x86_64", None, None)),
    ],
)
def test_what_an_interpreter_says_of_itself(more: dict[str, object], tag: str, platform: tuple[object, ...]) -> None:
    found = interpreter.interpreter_of(interpreter.parse_answer(answer(**more)), "/usr/bin/python", "given")
    assert found.python.tag == tag
    assert tuple(found.platform) == (*platform, None)


def test_the_name_of_this_python_tells_musl_where_the_system_tells_no_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    names = {"SOABI": "cpython-312-x86_64-linux-musl"}
    monkeypatch.setattr(sysconfig, "get_config_var", names.get)
    for error in (AttributeError, ValueError, OSError):

        def unknown(_: str, error: type[Exception] = error) -> str:
            raise error

        monkeypatch.setattr(os, "confstr", unknown, raising=False)
        assert interpreter.running().platform.libc == "musl"
    names.clear()
    assert interpreter.running().platform.libc is None
    monkeypatch.setattr(
        os, "confstr", lambda name: "glibc 2.36" if name == "CS_GNU_LIBC_VERSION" else None, raising=False
    )
    assert interpreter.running().platform.glibc == "2.36"


@given(st.binary(max_size=100))
def test_any_answer_is_read_or_refused(data: bytes) -> None:
    with pytest.raises((ShapeError, TorchpickError)):
        interpreter.interpreter_of(interpreter.parse_answer(data), "python", "given")


def test_the_question_and_our_own_answer_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a subprocess of this interpreter says is what we read without one."""
    here = interpreter.running()
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    there = choose(os.path.realpath(sys.prefix) + "/bin/python", world(tmp_path))
    assert there.platform == here.platform
    assert there.python.tag == here.python.tag
