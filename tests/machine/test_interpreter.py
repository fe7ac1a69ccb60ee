from __future__ import annotations

import _imp
import json
import os
import sys
import time
import venv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import child, interpreter
from torchpick.environment.world import World, tool_environment
from torchpick.errors import TorchpickError
from torchpick.model.fields import ShapeError
from torchpick.model.machine import Machine

CASES = json.loads(Path(__file__).with_name("interpreters.json").read_text("utf-8"))


def world(cwd: Path, **environ: str) -> World:
    return World("/", {"PATH": "/usr/bin:/bin", **environ}, str(cwd), sys.platform)


def choose(told: str | None, where: World) -> Machine:
    return interpreter.choose(told, where, time.monotonic() + 10)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / ".venv"
    venv.create(folder, symlinks=True)
    return folder


def test_the_active_one_that_runs_torchpick_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "start", None)
    for name, source in (("VIRTUAL_ENV", "virtual"), ("CONDA_PREFIX", "conda")):
        found = choose(None, world(tmp_path, **{name: sys.prefix}))
        assert found.python.executable == sys.executable
        assert found.python.source == f"the active {source} environment"


@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("a/uv-receipt.toml", "uv tool"), ("a/pipx_metadata.json", "pipx"), ("a/pyvenv.cfg", None),
        ("archive-v0/a/pyvenv.cfg", "uvx"), ("environments-v2/a/pyvenv.cfg", "uvx"),
    ],
)  # fmt: skip
def test_tool_environments(tmp_path: Path, file: str, tool: str | None) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    assert tool_environment(str((tmp_path / file).parent)) == tool


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


@pytest.mark.parametrize(("more", "tag", "platform"), CASES["what_an_interpreter_says_of_itself"])
def test_what_an_interpreter_says_of_itself(more: dict[str, object], tag: str, platform: tuple[object, ...]) -> None:
    found = interpreter.read_answer(answer(**more), "/usr/bin/python")[0]
    assert found.python.tag == tag
    assert tuple(found.platform) == (*platform, None)


def test_the_name_of_this_python_tells_musl_where_the_system_tells_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    names = [".cpython-312-x86_64-linux-musl.so"]
    monkeypatch.setattr(_imp, "extension_suffixes", lambda: names)
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
        interpreter.read_answer(data, "python")


def test_the_question_and_our_own_answer_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a subprocess of this interpreter says is what we read without one."""
    here = interpreter.running()
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    there = choose(os.path.realpath(sys.prefix) + "/bin/python", world(tmp_path))
    assert there.platform == here.platform
    assert there.python.tag == here.python.tag
