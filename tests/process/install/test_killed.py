"""kill -9, Ctrl-C, SIGTERM, a full and a read-only disk at every call by which `install` and `doctor --fix` write.

The environment is then as it was or has what was asked for, whole, and the same command again ends well.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kills.traced import Command, kill_everywhere
from tests.process.install.conftest import GTX_1080_TI, VARIABLES, World

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="no strace")]
Count = Callable[[str, int, int], None]
WANTED = {"filelock": "3.20.0", "triton": "3.8.0", "torch": "2.14.1+cu126"}


@pytest.mark.parametrize("installer", VARIABLES)
@pytest.mark.parametrize(
    ("before", "words"),
    [((), ("install", "torch")), (("torch==2.14.1+cu130",), ("doctor", "--fix"))],
    ids=["install", "doctor --fix"],
)
def test_stopped_anywhere_it_is_finished_by_the_next(  # what is stopped, with what, where
    host: World, count: Count, tmp_path: Path, installer: str, before: tuple[str, ...], words: tuple[str, ...]
) -> None:
    python = host.environment(installer, *before)
    prefix, pristine, cache = python.parent.parent, tmp_path / "pristine", tmp_path / "cache"
    shutil.copytree(prefix, pristine, symlinks=True)
    old = host.installed(python)
    environ = {**host.environ, **VARIABLES[installer]}
    command = Command((*words, *GTX_1080_TI, "--python", str(python)), environ, tmp_path)

    def fresh() -> None:
        for folder in (prefix, cache):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(pristine, prefix, symlinks=True)

    def whole() -> str:
        there = host.installed(python)
        if there not in (old, WANTED):
            return f"half an environment: {there}"
        done = command.run()
        there = host.installed(python)
        if done.status or there != WANTED:
            return f"{done.status} {there} {done.err}"
        return ""

    what = f"{' '.join(words)} with {installer} stopped"
    tried, troubles = kill_everywhere(command, tmp_path / "log", fresh, whole)
    count(what, tried, tried - len(troubles))
    assert not troubles, "\n".join(f"{place}: {trouble}" for place, trouble in troubles.items())
