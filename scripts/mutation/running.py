"""Run the tests of a module against its mutants, in copies of the project, which the tests' own processes run too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.mutation.mutants import Mutant

_POLL_S = 0.05
# What no test reads, or what every copy would only make slower.
_LEFT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "dist", "build")


class Verdict(NamedTuple):
    """What the tests made of a mutant: `killed`, `alive` or `too slow`, which counts as killed."""

    mutant: Mutant
    word: str

    @property
    def killed(self) -> bool:
        return self.word != "alive"


class Workshop:
    """Copies of a project, one for each job, in which modules are changed and tested."""

    def __init__(self, root: Path, folder: Path, jobs: int) -> None:
        self._copies = [folder / f"copy-{number}" for number in range(jobs)]
        for copy in self._copies:
            shutil.copytree(root, copy, ignore=_LEFT, symlinks=True)
        self._usual: dict[tuple[str, ...], float] = {}

    def verdicts(
        self, module: Path, mutants: Sequence[Mutant], tests: Sequence[str], most_s: float | None
    ) -> Iterator[Verdict]:
        """The verdict on each mutant, as they come; raises RuntimeError where the tests fail as things are."""
        deadline = most_s or max(10.0, 4 * self._undisturbed(tuple(tests)))
        waiting, free = list(mutants), list(self._copies)
        running: list[_Run] = []
        try:
            while waiting or running:
                while waiting and free:
                    running.append(_Run(free.pop(), module, waiting.pop(0), tests, deadline))
                for run in list(running):
                    if (word := run.word()) is not None:
                        run.end()
                        running.remove(run)
                        free.append(run.copy)
                        yield Verdict(run.mutant, word)
                time.sleep(_POLL_S)
        finally:
            for run in running:
                run.end()

    def _undisturbed(self, tests: tuple[str, ...]) -> float:
        """How many seconds the tests take as things are."""
        if tests not in self._usual:
            began = time.monotonic()
            if _start(self._copies[0], tests).wait() != 0:
                raise RuntimeError(f"these tests fail without any change: {' '.join(tests)}")
            self._usual[tests] = time.monotonic() - began
        return self._usual[tests]


class _Run:
    """The tests at work on one mutant, in a copy that has its module as it was again after `end`."""

    def __init__(self, copy: Path, module: Path, mutant: Mutant, tests: Sequence[str], deadline: float) -> None:
        self.copy, self.mutant = copy, mutant
        self._file = copy / module
        self._before = self._file.read_text(encoding="utf-8")
        self._file.write_text(mutant.source, encoding="utf-8")
        self._until = time.monotonic() + deadline
        self._process = _start(copy, tests)

    def word(self) -> str | None:
        """The verdict; None while the tests run."""
        status = self._process.poll()
        if status is not None:
            return "alive" if status == 0 else "killed"
        return "too slow" if time.monotonic() > self._until else None

    def end(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._file.write_text(self._before, encoding="utf-8")


def _start(copy: Path, tests: Sequence[str]) -> subprocess.Popen[bytes]:
    """The tests of a copy, in a session of their own."""
    words = ["-x", "-q", "-p", "no:randomly", "--basetemp", f"{copy}-temporary", *tests]
    environ = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], cwd=copy, env=environ, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
