"""Real tools in environments of their own, fetched once from the user's index and kept for the next run."""

from __future__ import annotations

import getpass
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests import usersettings
from tests.fakes import venvs

REQUIREMENTS = {
    "pdm": ("pdm==2.24.2", "hishel<0.2", "unearth<0.18"),  # it bounds neither, and their next versions break it
    "uv": ("uv==0.13.8",),
}


# That of the machine and not of a test: they are kept.
HOME = Path(tempfile.gettempdir()) / f"torchpick-test-tools-{getpass.getuser()}"


def tool(name: str) -> str:
    """The path of the tool's program; the test is skipped where it cannot be had."""
    requirements = REQUIREMENTS[name]
    key = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    home = HOME / f"{name}-{key}"
    program = home / "bin" / name
    ready = home / "ready"
    if not ready.exists():
        _make(home, requirements)
    if not ready.exists():
        pytest.skip(f"{name} cannot be fetched from the package index")
    return str(program)


def _make(home: Path, requirements: tuple[str, ...]) -> None:
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = home.with_suffix(".lock")
    for _ in range(1200):
        try:
            lock.mkdir()
            break
        except FileExistsError:
            if (home / "ready").exists():
                return
            time.sleep(0.1)
    try:
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            venvs.with_pip(home)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", *requirements]
            done = subprocess.run(pip, env=usersettings.fetching(), timeout=300, capture_output=True, check=False)
            if done.returncode == 0:
                (home / "ready").touch()
    finally:
        lock.rmdir()


def python(version: str) -> str | None:
    """An interpreter of this version on this machine, if there is one."""
    name = f"python{version}"
    candidates = [
        shutil.which(name),
        *map(
            str,
            Path(usersettings.ORIGINAL.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))).glob(
                f"versions/{version}.*/bin/{name}"
            ),
        ),
    ]
    for path in filter(None, candidates):
        if subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode == 0:
            return path
    return None


def plain(home: Path) -> dict[str, str]:
    """An environment for tools: nothing of the user's settings, caches or home."""
    return {
        "PATH": usersettings.ORIGINAL["PATH"],
        **usersettings.nothing(home / "settings"),
        "HOME": str(home), "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1", "UV_CACHE_DIR": str(home / "uv-cache"), "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never", "PDM_CHECK_UPDATE": "0", "NO_COLOR": "1",
    }  # fmt: skip
