"""kill -9, Ctrl-C, SIGTERM and a full or read-only disk at every call that changes a file: nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.indexes import WheelHost
from tests.fakes.loopback import Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.index.server import serving
from tests.kills.traced import Command, kill_everywhere
from tests.test_refresh import Index
from torchpick.wheels.refresh import CacheStore

pytestmark = [pytest.mark.long, pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="no strace")]
Count = Callable[[str, int, int], None]
GPU = ("--gpu", "sm_61", "--driver", "580.95.05")
PIP_CONF = b"# mine\n[global]\ntimeout = 60\n[install]\nfind-links = https://own.example/links/\n"
PROJECT = (
    b'# mine\n[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.10"\ndependencies = ["torch"]\n'
    b"[tool.other]\nx = 1 # kept\n"
)
OLD_LOCK = b'lock-version = "1.0"\ncreated-by = "an older one"\npackages = []\n'


class Home:
    """A project with an environment of its own, and the user's settings in both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "app"
        self.prefix = self.folder / ".venv"
        self.conf = self.prefix / "pip.conf"
        self.project = self.folder / "pyproject.toml"
        self.python = self.prefix / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.prefix)], check=True)
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.prefix / "share", ignore_errors=True)
        self.conf.write_bytes(PIP_CONF)
        self.project.write_bytes(PROJECT)

    def command(self, *words: str) -> Command:
        return Command((*words, "--python", str(self.python)), os.environ, self.folder)

    def untouched(self) -> str:
        """What is not as the user had it, in words."""
        if self.conf.read_bytes() != PIP_CONF:
            return f"pip.conf: {self.conf.read_bytes()!r}"
        if self.project.read_bytes() != PROJECT:
            return f"pyproject.toml: {self.project.read_bytes()!r}"
        return "the store is left" if (self.prefix / "share" / "torchpick").exists() else ""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def report(count: Count, what: str, tried: int, troubles: dict[str, str]) -> None:
    count(what, tried, tried - len(troubles))
    assert not troubles, "\n".join(f"{place}: {trouble}" for place, trouble in troubles.items())


def test_a_killed_pin_is_taken_back_whole(home: Home, tmp_path: Path, count: Count) -> None:
    pin, unpin = home.command("pin", *GPU), home.command("unpin")
    assert pin.run().status == 0
    pinned = {home.conf.read_bytes(), PIP_CONF}
    projects = {home.project.read_bytes(), PROJECT}

    def whole() -> str:
        if home.conf.read_bytes() not in pinned or home.project.read_bytes() not in projects:
            return "a file is neither old nor new"
        done = unpin.run()
        return done.err if done.status else home.untouched()

    report(count, "pin stopped", *kill_everywhere(pin, tmp_path / "log", home.fresh, whole))


def test_a_killed_unpin_is_finished_by_the_next(home: Home, tmp_path: Path, count: Count) -> None:
    pin, unpin = home.command("pin", *GPU), home.command("unpin")

    def pinned() -> None:
        home.fresh()
        assert pin.run().status == 0

    def whole() -> str:
        done = unpin.run()
        return done.err if done.status else home.untouched()

    report(count, "unpin stopped", *kill_everywhere(unpin, tmp_path / "log", pinned, whole))


def test_killed_extras_leave_the_project_old_or_new(home: Home, tmp_path: Path, count: Count) -> None:
    extras = Command(("extras", "--write", str(home.project)), os.environ, home.folder)
    assert extras.run().status == 0
    new = home.project.read_bytes()
    assert new != PROJECT

    def whole() -> str:
        if home.project.read_bytes() not in (PROJECT, new):
            return f"half a file: {home.project.read_bytes()!r}"
        done = extras.run()
        if done.status or home.project.read_bytes() != new:
            return done.err or "the next run comes to something else"
        return ""

    report(count, "extras --write stopped", *kill_everywhere(extras, tmp_path / "log", home.fresh, whole))


def test_a_killed_detect_leaves_a_whole_file_or_none(tmp_path: Path, count: Count) -> None:
    into = tmp_path / "into"
    into.mkdir()
    detect = Command(("detect", "--into", str(into)), os.environ, tmp_path)

    def fresh() -> None:
        for path in into.iterdir():
            path.unlink()

    def whole() -> str:
        for path in into.glob("*.json"):
            json.loads(path.read_text("utf-8"))
        done = detect.run()
        files = [json.loads(path.read_text("utf-8")) for path in into.glob("*.json")]
        if done.status not in (0, 4) or len(files) != 1:
            return done.err or f"{len(files)} files"
        return ""

    report(count, "detect --into stopped", *kill_everywhere(detect, tmp_path / "log", fresh, whole))


def test_a_killed_lock_leaves_the_old_one_or_the_new(tmp_path: Path, count: Count) -> None:
    tag = f"cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-manylinux_2_28_x86_64"
    host = WheelHost(files_at="")
    host.add("cu126", TinyWheel("torch", "2.14.1+cu126", tag))
    folder, cache = tmp_path / "locks", tmp_path / "cache"
    folder.mkdir()
    file = folder / "pylock.torch.toml"
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environ["TORCHPICK_CACHE_DIR"] = str(cache)

    def fresh() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        for path in folder.iterdir():
            path.unlink()
        file.write_bytes(OLD_LOCK)

    with Loopback({"127.0.0.1": host}).running() as server:
        words = ("lock", "torch", "--no-deps", "--index-base", f"{server.url}/whl", *GPU, "-o", str(file))
        command = Command(words, environ, tmp_path)
        fresh()
        assert command.run().status == 0
        new = file.read_bytes()

        def whole() -> str:
            if file.read_bytes() not in (OLD_LOCK, new):
                return f"half a lock: {file.read_bytes()!r}"
            done = command.run()
            if done.status or file.read_bytes() != new:
                return done.err or "the next run comes to something else"
            return ""

        report(count, "lock stopped", *kill_everywhere(command, tmp_path / "log", fresh, whole))


def test_a_killed_refresh_leaves_a_whole_table(tmp_path: Path, count: Count) -> None:
    with serving() as host:
        index = Index(host)
        versions = ["2.99.0+cu126", "2.99.1+cu126"]
        for version in versions:
            index.add(version, "sm_50 sm_60")
        cache = tmp_path / "cache"
        environ = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "TORCHPICK_INDEX_BASE": index.base, "TORCHPICK_CACHE_DIR": str(cache), "PIP_NO_INDEX": "1",
        }  # fmt: skip
        command = Command(("refresh", "--platform", "linux-x86_64"), environ, tmp_path)

        def fresh() -> None:
            shutil.rmtree(cache, ignore_errors=True)

        def whole() -> str:
            done = command.run()
            rows = CacheStore(cache, index.base, "stable").rows().values()
            known = {row.version for row in rows if row.arches is not None}
            if done.status or known != set(versions):
                return f"{done.err} {known}"
            return ""

        report(count, "refresh stopped", *kill_everywhere(command, tmp_path / "log", fresh, whole))
