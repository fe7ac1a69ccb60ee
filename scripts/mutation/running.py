"""Run the tests of a module against its mutants, each in a forked process that imports the mutant instead."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

from scripts.mutation.mutants import Mutant

_POLL_S = 0.02


class Verdict(NamedTuple):
    """What the tests made of a mutant: `killed`, `alive` or `too slow`, which counts as killed."""

    mutant: Mutant
    word: str

    @property
    def killed(self) -> bool:
        return self.word != "alive"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant where its module is imported."""

    def __init__(self, module: str, file: str, source: str) -> None:
        self.module, self.file, self.source = module, file, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.file, "exec"), module.__dict__)  # noqa: S102 # the module as it might be


def verdicts(
    module: str, file: str, mutants: Sequence[Mutant], tests: Sequence[str], jobs: int, most_s: float | None
) -> Iterator[Verdict]:
    """The verdict on each mutant, as they come; raises RuntimeError where the tests fail as things are."""
    usual = _unchanged(tuple(tests))
    deadline = most_s or max(10.0, 4 * usual)
    waiting = list(mutants)
    running: dict[int, tuple[Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            running[_start(module, file, mutant.source, tests)] = (mutant, time.monotonic() + deadline)
        for pid, (mutant, until) in list(running.items()):
            status = _ended(pid, 0.0, wait=False)
            if status is None and time.monotonic() > until:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                yield Verdict(mutant, "too slow")
                del running[pid]
            elif status is not None:
                yield Verdict(mutant, "alive" if status == 0 else "killed")
                del running[pid]
        time.sleep(_POLL_S)


@functools.cache
def _unchanged(tests: tuple[str, ...]) -> float:
    """How many seconds the tests take as things are."""
    began = time.monotonic()
    if _ended(_start("", "", "", tests), 600.0) != 0:
        raise RuntimeError(f"these tests fail without any change: {' '.join(tests)}")
    return time.monotonic() - began


def _ended(pid: int, most_s: float, *, wait: bool = True) -> int | None:
    until = time.monotonic() + most_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if not wait or time.monotonic() > until:
            return None
        time.sleep(_POLL_S)


def _start(module: str, file: str, source: str, tests: Sequence[str]) -> int:
    """A child that runs the tests and says by its status whether they pass; its process group is its own."""
    import pytest

    pid = os.fork()
    if pid:
        return pid
    folder = tempfile.mkdtemp(prefix="torchpick-mutant-")
    status = 1
    try:
        os.setpgid(0, 0)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        sys.meta_path.insert(0, _Finder(module, file, source))
        words = ["-x", "-q", "-p", "no:xdist", "-p", "no:randomly", "--basetemp", f"{folder}/t", *tests]
        status = int(pytest.main(words))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(status)
