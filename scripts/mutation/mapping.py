"""Which tests are to notice a change to a module, and which lines were changed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_SOURCE = Path("src/torchpick")
# Where the tests of a module are not those of the folder with its name; the quickest first, for the first that fails
# ends a run. Installing is held by real pip and uv, and whole runs of a lock are cases of installing.
_WITH_TOOLS = ["tests/process/install", "tests/process/test_lock_with_tools.py"]
_TESTS = {
    "install": ["tests/install", "tests/cli", "tests/test_commands.py", *_WITH_TOOLS],
    "doctor": ["tests/doctor", "tests/cli/test_doctor.py", "tests/cli/test_explain.py"],
    "decide": [
        "tests/decide",
        "tests/laws",
        "tests/cli/test_fleet.py",
        "tests/cli/test_commands.py",
        "tests/test_commands.py",
    ],
    "model": [
        "tests/model",
        "tests/laws",
        "tests/test_commands.py",
        "tests/decide/test_commands.py",
        "tests/test_library.py",
    ],
    "cli": [
        "tests/cli",
        "tests/show",
        "tests/projects/test_commands.py",
        "tests/install/test_commands.py",
        "tests/test_commands.py",
        "tests/test_inspect.py",
        "tests/test_refresh.py",
    ],
    "knowledge": ["tests/knowledge", "tests/test_commands.py", "tests/test_refresh.py", "tests/test_damage.py"],
    "environment": ["tests/environment", "tests/install", "tests/doctor"],
    "machine": [
        "tests/machine",
        "tests/cluster",
        "tests/cli",
        "tests/test_commands.py",
        "tests/install/test_verification.py",
        "tests/process/install/test_verify.py",
    ],
    "index": ["tests/index", "tests/wheels", "tests/install"],
    "wheels": [
        "tests/wheels",
        "tests/test_inspect.py",
        "tests/test_inspect_many.py",
        "tests/test_refresh.py",
        "tests/doctor",
    ],
    "cluster": ["tests/cluster", "tests/cli/test_fleet.py", "tests/cli/test_nodes.py", "tests/cli/test_machines.py"],
    "projects": [
        "tests/projects",
        "tests/cli/test_extras.py",
        "tests/install/test_pin.py",
        "tests/process/install/test_pin_script.py",
        "tests/process/test_extras_with_tools.py",
    ],
}


def tests_of(module: Path) -> list[str]:
    """The tests of a module under src/torchpick."""
    rooms = [room.as_posix() for room in module.relative_to(_SOURCE).parents[:-1]]
    tests = next((_TESTS[room] for room in rooms if room in _TESTS), [f"tests/{rooms[-1]}"] if rooms else [])
    named = [path for path in tests if Path(path).exists()]
    return named or ["tests"]


def modules(paths: Iterable[Path]) -> list[Path]:
    """These modules, and all of a folder's."""
    return [module for path in paths for module in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def changed_lines(base: str | None) -> dict[Path, set[int]]:
    """The lines of the package that differ from a commit; from where the branch began without one."""
    commit = base or began()
    words = ["git", "diff", "--unified=0", "--no-color", commit, "--", str(_SOURCE)]
    diff = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found: dict[Path, set[int]] = {}
    file = None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = Path(line[6:]) if line.endswith(".py") else None
        elif file is not None and (match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)):
            first, count = int(match[1]), int(match[2] or 1)
            found.setdefault(file, set()).update(range(first, first + count))
    return {path: lines for path, lines in found.items() if lines and path.exists()}


def rooms(base: str | None) -> list[str]:
    """The rooms that differ from a commit; every one of them where its name is empty."""
    every = sorted(path.name for path in _SOURCE.iterdir() if (path / "__init__.py").exists())
    if base == "":
        return every
    changed = {path.relative_to(_SOURCE).parts[0] for path in changed_lines(base)}
    return [room for room in every if room in changed]


def began() -> str:
    for branch in ("origin/main", "main"):
        words = ["git", "merge-base", "HEAD", branch]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return "HEAD"
