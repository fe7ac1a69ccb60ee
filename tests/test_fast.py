"""`scripts/test --fast`: which tests, in which order, and what is said of those for which there is no time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import fast

ROOT = Path(__file__).parents[1]
LAST = ["tests/test_architecture.py", "tests/test_commands.py"]


def _project(root: Path) -> Path:
    """Three rooms, one above the other, and one that has nothing to do with them."""
    for room, text in {
        "model": "",
        "decide": "from torchpick.model import noun",
        "install": "def late():\n    from torchpick import decide\n    return decide",
        "cluster": "import json",
    }.items():
        (root / f"src/torchpick/{room}").mkdir(parents=True)
        (root / f"src/torchpick/{room}/__init__.py").write_text(text, "utf-8")
        (root / f"tests/{room}").mkdir(parents=True)
    for name in (
        "tests/test_architecture.py",
        "tests/test_commands.py",
        "tests/knowledge/test_x.py",
        "tests/table/test_y.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", "utf-8")
    return root


def test_the_changed_room_comes_first_and_then_those_that_import_it(tmp_path: Path) -> None:
    found = fast.chosen(["src/torchpick/model/noun.py", "docs/faq.md"], _project(tmp_path))

    assert found == [
        "tests/model",
        "tests/test_architecture.py",
        "tests/decide",
        "tests/install",
        "tests/test_commands.py",
    ]


def test_a_changed_test_comes_before_all_and_a_helper_brings_its_folder(tmp_path: Path) -> None:
    found = fast.chosen(
        ["src/torchpick/cluster/ssh.py", "tests/knowledge/test_x.py", "tests/decide/given.py"], _project(tmp_path)
    )

    assert found == ["tests/knowledge/test_x.py", "tests/knowledge", "tests/decide", "tests/cluster", *LAST]


def test_a_command_is_held_by_whole_runs_of_install_too() -> None:
    found = fast.chosen(["src/torchpick/cli/installed.py"], ROOT)

    assert found[:2] == ["tests/install/test_commands.py", "tests/cli"]


def test_the_table_is_held_by_its_own_tests(tmp_path: Path) -> None:
    found = fast.chosen(["compat/torch-2.15.1.json"], _project(tmp_path))

    assert found == ["tests/table", "tests/knowledge", "tests/test_architecture.py"]


def test_every_place_that_is_named_is_there() -> None:
    everything = [*fast.chosen([f"{place}/x" for place in ("compat", "evidence", "docs", ".github")], ROOT)]

    assert {"tests/table", "tests/knowledge", "tests/test_docs.py", "tests/laws"} <= {*everything}


@pytest.mark.process
def test_what_there_is_no_time_for_is_said_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_late.py").write_text("def test_it(): raise AssertionError\ndef test_other(): pass\n", "utf-8")
    words = ["-p", "scripts.fast", "-p", "no:cacheprovider", "-n", "1", "-c", os.devnull, "--rootdir", str(tmp_path)]
    environ = {**os.environ, "TORCHPICK_TEST_UNTIL": "0", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path)],
        env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "left out, as 24 s were over (`scripts/test --quick` runs all):\n  test_late.py: 2\n" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
