"""The tests that are worth half a minute after a change: `scripts/test --fast`.

First what holds the changed rooms (compared with where the branch began, with what is not committed), then the rooms
that import them, the nearest first, then the laws. What has not begun after 24 seconds is left out, and that is said.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from scripts.mutation import mapping

_BEGIN_S = 24  # the last of them ends within half a minute
_UNTIL = "TORCHPICK_TEST_UNTIL"
_SOURCE = "src/torchpick"
# What is held elsewhere than in its own room, or is neither a room nor a test. Pages are held by the words in them too.
_ELSEWHERE = {
    "src/torchpick/cli": ["tests/install/test_commands.py"],
    "compat": ["tests/table", "tests/knowledge"],
    "evidence": ["tests/table"],
    "scripts/table": ["tests/table"],
    "scripts/shipping": ["tests/shipping"],
    "scripts/mutation": ["tests/mutation"],
    "scripts/fast.py": ["tests/test_fast.py"],
    "docs": ["tests/test_docs.py"],
    ".github": ["tests/shipping/test_workflows.py"],
}
_LAWS = ["tests/test_architecture.py", "tests/test_language.py", "tests/laws"]


def changed() -> list[str]:
    """The files that differ from where the branch began."""
    words = ["git", "diff", "--name-only", mapping.began()], ["git", "ls-files", "--others", "--exclude-standard"]
    return sorted({line for each in words for line in subprocess.check_output(each, text=True).splitlines()})


def above(rooms: set[str], source: Path) -> list[str]:
    """The rooms that import one of these, and those that import them, the nearest first."""
    folders = [folder for folder in sorted(source.iterdir()) if folder.is_dir()]
    imports = {folder.name: {*_imports(sorted(folder.rglob("*.py")))} for folder in folders}
    found = list(rooms)
    for room in found:  # it grows
        found += sorted(name for name, wanted in imports.items() if room in wanted and name not in found)
    return [room for room in found if room not in rooms]


def chosen(files: Sequence[str], root: Path) -> list[str]:
    """The files and folders of tests, in the order in which they are run."""
    paths = [Path(file) for file in files]
    modules = [path for path in paths if path.is_relative_to(_SOURCE) and path.suffix == ".py"]
    rooms = {path.relative_to(_SOURCE).parts[0] for path in modules if len(path.relative_to(_SOURCE).parts) > 1}
    found = [path.as_posix() for path in paths if path.parts[0] == "tests" and path.name.startswith("test_")]
    # A helper's folder; what stands beside all of them is everybody's.
    found += [path.parent.as_posix() for path in paths if path.parts[0] == "tests" and len(path.parts) > 2]
    found += [
        tests
        for where, held in _ELSEWHERE.items()
        if any(path.is_relative_to(where) for path in paths)
        for tests in held
    ]
    found += [f"tests/{room}" for room in sorted(rooms)]
    found += _LAWS[:2]
    found += [f"tests/{room}" for room in above(rooms, root / _SOURCE)]
    if modules:
        found += ["tests/test_commands.py", "tests/test_library.py"]
    return [path for path in dict.fromkeys([*found, *_LAWS]) if (root / path).exists()]


def _imports(files: Sequence[Path]) -> Iterator[str]:
    """The rooms that these modules import, within functions as well."""
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            yield from (name.split(".")[1] for name in names if name.startswith("torchpick."))


class _Said:
    """What was left out, in the process that prints."""

    def __init__(self) -> None:
        self._all: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._all = ids

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        begun = {getattr(report, "nodeid", "") for reports in terminalreporter.stats.values() for report in reports}
        late = Counter("/".join(test.split("::")[0].split("/")[:2]) for test in self._all if test not in begun)
        if late:
            terminalreporter.write_line(f"left out, as {_BEGIN_S} s were over (`scripts/test --quick` runs all):")
            for where, number in late.items():
                terminalreporter.write_line(f"  {where}: {number}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # one of the processes that run tests
        config.pluginmanager.register(_Said())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol() -> bool | None:
    """Past the deadline a test is as good as run, and no report tells of it."""
    return True if time.time() > float(os.environ[_UNTIL]) else None


def main(words: Sequence[str]) -> int:
    os.environ.setdefault(_UNTIL, str(time.time() + _BEGIN_S))
    tests = chosen(changed(), Path.cwd())
    print("tests:", *tests, flush=True)
    # In the order in which they are named: one at a time goes to whichever process is free.
    spread = ["--dist", "load", "--maxschedchunk", "1"]
    return int(pytest.main(["-q", "-r", "fE", "-p", __spec__.name, *spread, *words, *tests]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
