"""Writes down which lines of some modules each test runs, also in the processes that it starts.

A survey copies this beside the package as `sitecustomize.py`, which every interpreter imports that has the package on
its path, and gives it to pytest as a plugin. In the folder `survey` beside `src` stand `modules`, the files in
question, and `test`, the one that runs; `lines` is filled here: module, line, test; `seconds`, how many, test;
`failed`, 0, test.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from _typeshed import TraceFunction

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SURVEY = os.path.join(_ROOT, "survey")
_write = os.write  # tests put others in its place


class _Tracer:
    """Each line is written at once: a process may end without notice, or become another program."""

    def __init__(self) -> None:
        with open(os.path.join(_SURVEY, "modules"), encoding="utf-8") as stream:
            self._modules = {os.path.join(_ROOT, module): module for module in stream.read().split("\n")}
        with open(os.path.join(_SURVEY, "test"), encoding="utf-8") as stream:
            self.test = stream.read()
        self._into = os.open(os.path.join(_SURVEY, "lines"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._seen: set[tuple[str, int]] = set()
        self._began = 0.0

    def begin(self, test: str) -> None:
        with open(os.path.join(_SURVEY, "test"), "w", encoding="utf-8") as stream:
            stream.write(test)
        self.test, self._seen, self._began = test, set(), time.monotonic()
        sys.settrace(self.call)  # a test may have ended it, by an error in here or on purpose

    def end(self) -> None:
        self.write("seconds", f"{time.monotonic() - self._began:.3f}", self.test)

    def write(self, *words: str) -> None:
        _write(self._into, ("\t".join(words) + "\n").encode())

    def call(self, frame: FrameType, _event: str, _value: object) -> TraceFunction | None:
        wanted = self.test and frame.f_code.co_filename in self._modules and frame.f_code.co_name != "<module>"
        return self.line if wanted else None

    def line(self, frame: FrameType, _event: str, _value: object) -> TraceFunction | None:
        place = self._modules[frame.f_code.co_filename], frame.f_lineno
        if place not in self._seen:
            self._seen.add(place)
            self.write(place[0], str(place[1]), self.test)
        return self.line


if os.path.isdir(_SURVEY):
    _tracer = _Tracer()
    threading.settrace(_tracer.call)
    sys.settrace(_tracer.call)


def pytest_runtest_logstart(nodeid: str) -> None:
    _tracer.begin(nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _tracer.write("failed", "0", report.nodeid)


def pytest_runtest_logfinish() -> None:
    _tracer.end()
