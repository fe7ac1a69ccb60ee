"""Run the tests of a module against its mutants, in copies of the project, which the tests' own processes run too."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from scripts.mutation import survey, warm
from scripts.mutation.mutants import Mutant
from scripts.mutation.survey import Survey

# What no test reads, or what every copy would only make slower.
_LEFT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "dist", "build")
# Python knows a module by the second it was written: each writing gets one of its own, long ago.
_seconds = itertools.count(1_000_000_000)


class Verdict(NamedTuple):
    """What the tests made of a mutant: `killed`, `alive` or `too slow`, which counts as killed."""

    mutant: Mutant
    word: str
    tried: int

    @property
    def killed(self) -> bool:
        return self.word != "alive"


class Workshop:
    """Copies of a project, one for each job, in which modules are changed and tested."""

    def __init__(self, root: Path, folder: Path, jobs: int, modules: Sequence[Path], part: str = "not long") -> None:
        self._modules = modules
        self._benches = [_Bench(root, folder / f"copy-{number}", part) for number in range(jobs)]
        self._surveys: dict[tuple[str, ...], Survey] = {}

    def verdicts(
        self, module: Path, mutants: Sequence[Mutant], tests: Sequence[str], most_s: float | None
    ) -> Iterator[Verdict]:
        """The verdict on each mutant, in their order."""
        seen = self._survey(tuple(tests))
        source = (self._benches[0].copy / module).read_text(encoding="utf-8")
        free: SimpleQueue[_Bench] = SimpleQueue()
        for bench in self._benches:
            free.put(bench)

        def verdict(mutant: Mutant) -> Verdict:
            bench = free.get()
            try:
                chosen = seen.tests_of(module, source, mutant.line)
                deadline = most_s or 10.0 + 4 * sum(seen.seconds[test] for test in chosen)
                word, test = bench.tried(module, mutant, chosen, deadline)
                if test:
                    seen.killed_by(test)
                return Verdict(mutant, word, len(chosen))
            finally:
                free.put(bench)

        with ThreadPoolExecutor(len(self._benches)) as pool:
            yield from pool.map(verdict, mutants)

    def _survey(self, tests: tuple[str, ...]) -> Survey:
        if tests not in self._surveys:
            self._surveys[tests] = found = self._benches[0].surveyed(tests, self._modules)
            for test in sorted(found.failed):
                print(f"left out, as it fails without any change: {test}", file=sys.stderr)
        return self._surveys[tests]

    def close(self) -> None:
        """End the processes."""
        for bench in self._benches:
            bench.close()


class _Bench:
    """A copy of the project, and a process that runs tests in it."""

    def __init__(self, root: Path, copy: Path, part: str) -> None:
        self.copy = copy
        self._words = ["-q", "-p", "no:randomly", "-m", part, f"--basetemp={copy}-temporary"]
        self._failed = Path(f"{copy}-failed")
        tools = f"{copy}-tools"
        shutil.copytree(root, copy, ignore=_LEFT, symlinks=True)
        self._environ = {**os.environ, "PYTHONPATH": str(copy / "src"), "TORCHPICK_TEST_TOOLS": tools}
        self._environ["TORCHPICK_TEST_SOURCE"] = str(copy / "src")  # tests/conftest.py clears the path above
        self._warm = subprocess.Popen(
            [sys.executable, str(warm.__file__)], cwd=copy, env=self._environ, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._line()  # it has started: what a survey puts beside the package is not for the process itself

    def surveyed(self, tests: Sequence[str], modules: Sequence[Path]) -> Survey:
        """What the tests run as things are, as they are run for a mutant."""
        survey.prepare(self.copy, modules)
        status = self._ran([*self._words, *tests], None, survey.PLUGIN)
        found = survey.finish(self.copy)
        if status not in (0, 1) or not set(found.seconds) - found.failed:
            raise RuntimeError(f"these tests do not succeed without any change (status {status}): {' '.join(tests)}")
        return found

    def tried(self, module: Path, mutant: Mutant, tests: Sequence[str], most_s: float) -> tuple[str, str]:
        """The word for this mutant, and the test that killed it."""
        if not tests:
            return "alive", ""
        file = self.copy / module
        before = file.read_text(encoding="utf-8")
        _write(file, mutant.source)
        try:
            status = self._ran(["-x", *self._words, *tests], most_s, None)
        finally:
            _write(file, before)
        if status == -signal.SIGKILL:
            return "too slow", ""
        return ("killed" if status else "alive"), self._failed.read_text(encoding="utf-8")

    def _ran(self, words: Sequence[str], most_s: float | None, plugin: str | None) -> int:
        """The exit status of the tests, in a child of the process."""
        process = self._warm
        assert process.stdin is not None  # noqa: S101 # as it was started
        self._failed.write_text("", encoding="utf-8")
        process.stdin.write(json.dumps([words, str(self._failed), plugin]) + "\n")
        process.stdin.flush()
        child = int(self._line())
        late = None if most_s is None else threading.Timer(most_s, os.killpg, (child, signal.SIGKILL))
        if late is not None:
            late.start()
        status = int(self._line())
        if late is not None:
            late.cancel()
        return status

    def _line(self) -> str:
        assert self._warm.stdout is not None  # noqa: S101 # as it was started
        return self._warm.stdout.readline()

    def close(self) -> None:
        self._warm.kill()
        self._warm.communicate()


def _write(file: Path, source: str) -> None:
    file.write_text(source, encoding="utf-8")
    second = next(_seconds)
    os.utime(file, (second, second))
