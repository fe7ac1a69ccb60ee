"""Each promise of SECURITY.md can fail: with the change of `promises.json` that breaks it the test behind it is red."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import usersettings
from tests.test_security import promises

ROOT = Path(__file__).parents[1]
CHANGES: list[dict[str, str]] = json.loads(Path(__file__).with_name("promises.json").read_text("utf-8"))


def copied(here: Path, there: Path, edits: dict[Path, tuple[str, str]]) -> None:
    """The checkout by links, with what is changed in it and the folders above that of its own."""
    there.mkdir(exist_ok=True)
    for child in here.iterdir():
        if child in edits:
            (there / child.name).write_text(child.read_text("utf-8").replace(*edits[child]), "utf-8")
        elif any(child in file.parents for file in edits):
            copied(child, there / child.name, edits)
        elif child.name != "__pycache__":
            (there / child.name).symlink_to(child)


def test_each_promise_has_a_change_that_breaks_it_and_can_be_made() -> None:
    for promise, tests in promises().items():
        changes = [change for change in CHANGES if promise.startswith(change["promise"])]
        assert [change["test"] in tests for change in changes] == [True], promise
    for change in CHANGES:
        assert change["old"] in (ROOT / change["file"]).read_text("utf-8"), change["promise"]


@pytest.mark.long
@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="the checkout is made of links")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["test"].partition("::")[2])
def test_with_that_change_the_test_behind_it_is_red(change: dict[str, str], tmp_path: Path) -> None:
    # What a test starts has to be the changed program, too.
    takes_path = {ROOT / "tests" / "conftest.py": ('    "PYTHONPATH",\n', "")}
    copied(ROOT, tmp_path, {ROOT / change["file"]: (change["old"], change["new"]), **takes_path})
    environ = {**usersettings.ORIGINAL, "PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in [name for name in environ if name.startswith("PYTEST_")]:
        del environ[name]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:xdist", f"tests/{change['test']}"],
        env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip

    last = done.stdout.splitlines()[-1]
    if done.returncode == 0 and " passed" not in last:
        pytest.skip(f"not run here: {last}")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-4000:] + done.stderr[-2000:]
    assert " failed" in last, done.stdout[-4000:]
