"""A process under strace that dies, or is refused, at its n-th system call that changes something."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

DAMAGES = ("signal=KILL", "signal=INT", "signal=TERM", "error=ENOSPC", "error=EROFS")
# Everything that changes a file or a folder; of what is opened, what may be written.
CALLS = (
    "write,pwrite64,writev,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,chmod,fchmod,fchmodat,chown,"
    "fchown,fchownat,fsync,fdatasync,link,linkat,symlink,symlinkat,ftruncate,truncate,openat"
)
# On other processors some of these do not exist, and strace is told to take no offence.
_CALLS = "?" + CALLS.replace(",", ",?")
_PATIENCE_S = 120


class Ended(NamedTuple):
    status: int
    err: str


class Command(NamedTuple):
    """A command line of torchpick with the environment it runs in."""

    words: Sequence[str]
    environ: Mapping[str, str]
    cwd: Path

    def run(self, *before: str) -> Ended:
        line = [*before, sys.executable, "-m", "torchpick", *self.words]
        environ = {**self.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(line, env=environ, cwd=self.cwd, capture_output=True, timeout=_PATIENCE_S, check=False)
        err = done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in err, err
        return Ended(done.returncode, err)

    def calls(self, log: Path) -> list[tuple[str, int]]:
        """The calls of a whole run that change something: each by its name and which of that name it is."""
        done = self.run(*strace(), "-o", str(log), "-e", f"trace={_CALLS}")
        assert done.status == 0, done.err
        calls: list[tuple[str, int]] = []
        counts = Counter[str]()
        for line in log.read_text("utf-8").splitlines():
            name = line.partition("(")[0]
            counts[name] += 1
            if name.isalnum() and (name != "openat" or re.search("O_WRONLY|O_RDWR|O_CREAT", line)):
                calls.append((name, counts[name]))
        return calls

    def injected(self, what: str, name: str, place: int) -> Ended:
        """With this done to the call of this name at this place."""
        return self.run(*strace(), "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{what}:when={place}")


def strace() -> list[str]:
    path = shutil.which("strace")
    if path is None:
        pytest.skip("no strace")
    line = [path, "-qq"]
    works = subprocess.run([*line, "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0
    if not works:
        pytest.skip("strace may trace nothing here")
    return line


def kill_everywhere(
    command: Command, log: Path, fresh: Callable[[], None], whole: Callable[[], str]
) -> tuple[int, dict[str, str]]:
    """Run to each place from a fresh state. `whole` says in words what is lost or left; how often, and what it said."""
    fresh()
    calls = command.calls(log)
    assert calls
    troubles = {}
    tried = 0
    for what in DAMAGES:
        for name, place in calls:
            fresh()
            ended = command.injected(what, name, place)
            tried += 1
            is_said = ended.status == 0 or not what.startswith("error") or "\n\nhint: " in ended.err
            if trouble := whole() if is_said else f"{ended.status} without what to do: {ended.err}":
                troubles[f"{what} at {name} {place}"] = trouble
    return tried, troubles
