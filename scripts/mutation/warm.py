"""Runs tests again and again, each time in a child that has what takes long to import: but none of the package.

Each line of stdin is JSON: the words for pytest, and the file for the name of the first test that fails. Printed are
the child's process id, which is that of its session too, and its exit status.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

# The folder that it is started in, and not the one it lies in.
sys.path[0] = str(Path.cwd())

import pytest  # noqa: E402

for name in ("hypothesis", "httpx", "packaging.pylock", "packaging.specifiers", "tomlkit", "xml.dom.minidom"):
    with suppress(ImportError):
        __import__(name)


class _First:
    """Writes down which test failed."""

    def __init__(self, file: str) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            Path(self._file).write_text(report.nodeid, encoding="utf-8")


def main() -> None:
    for line in sys.stdin:
        words, file = json.loads(line)
        child = os.fork()
        if not child:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os._exit(pytest.main(words, plugins=[_First(file)]))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
