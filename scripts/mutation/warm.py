"""Runs tests again and again, each time in a child that has what takes long to import: but none of the package.

Each line of stdin is JSON: the words for pytest, the file for the name of the test that fails, and the name of a
module that is a plugin, or null. Printed are `ready`, and for each line the child's process id, which is that of its
session too, and its status.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

# The folder that it is started in, and not the one it lies in.
sys.path[0] = str(Path.cwd())

import pytest  # noqa: E402

for name in ("httpx", "packaging.pylock", "packaging.specifiers", "tomlkit", "xml.dom.minidom"):
    with suppress(ImportError):
        __import__(name)


# Pytest itself ends with 0 to 5.
_CRASHED = 70


class _First:
    """Writes down which test failed, and how the tests ended."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.ended = _CRASHED

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.ended = int(exitstatus)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            Path(self._file).write_text(report.nodeid, encoding="utf-8")


def _tests(words: list[str], file: str, plugin: str | None) -> int:
    """The exit status of pytest; nobody sees what it prints."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    importlib.invalidate_caches()
    sys.modules.pop(plugin or "", None)  # some systems have a `sitecustomize` of their own
    first = _First(file)
    try:
        return int(pytest.main(words, plugins=[first, *([importlib.import_module(plugin)] if plugin else [])]))
    except pytest.PytestUnraisableExceptionWarning:
        return first.ended  # what is left open when all tests have ended is none of theirs


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = _CRASHED
            try:
                status = _tests(*json.loads(line))
            finally:
                os._exit(status)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
