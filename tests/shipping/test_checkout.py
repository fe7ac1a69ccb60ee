"""A checkout has the same bytes on every system, and what its scripts make follows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shipping import steps

ROOT = Path(__file__).parents[2]
FILES = {"table.json": b"{\n}\n", "picture.png": b"\x89PNG\r\n\x1a\n", "made.whl": b"one\r\ntwo\r\n"}


@pytest.mark.process
def test_git_for_windows_changes_no_file(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    shutil.copy(ROOT / ".gitattributes", there)
    for name, content in FILES.items():
        (there / name).write_bytes(content)
    steps.bash("git init -q . && git add . && git commit -qm start", there, [], {})

    steps.bash(f"git clone -q -c core.autocrlf=true {there} {here}", tmp_path, [], {})

    assert {name: (here / name).read_bytes() for name in FILES} == FILES


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One with an environment whose programs say what they are called with."""
    (tmp_path / "scripts").mkdir()
    for name in ("start", "test", "environment"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    for name in ("pyproject.toml", "hatch_build.py", "src/torchpick/one.py", "compat/drivers.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, more in (("torchpick", ""), ("python", "exit ${PIP_STATUS:-0}")):
        file = tmp_path / ".venv" / "bin" / name
        file.write_text(f"#!/bin/sh\necho {name} $*\n{more}\n", "utf-8")
        file.chmod(0o755)
    return tmp_path


def _start(checkout: Path, script: str = "start", **environ: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", str(checkout / "scripts" / script), "url"]
    environ = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, **environ}
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.process
def test_start_renews_its_environment_where_the_checkout_changed(checkout: Path) -> None:
    renewed, old = "python -m pip install --quiet --disable-pip-version-check .\ntorchpick url\n", "torchpick url\n"
    assert _start(checkout).stdout == renewed
    assert _start(checkout).stdout == old

    later = time.time() + 60
    os.utime(checkout / "src" / "torchpick" / "one.py", (later, later))  # as `git pull` leaves it
    assert _start(checkout).stdout == renewed
    os.utime(checkout / "src" / "torchpick" / "one.py", (1, 1))
    (checkout / "compat" / "drivers.json").unlink()
    assert _start(checkout).stdout == renewed
    assert _start(checkout).stdout == old


@pytest.mark.process
def test_without_a_network_start_and_test_say_what_is_missing(checkout: Path) -> None:
    kept = _start(checkout, PIP_STATUS="1")
    assert kept.stdout.endswith("torchpick url\n")
    assert "note: .venv holds the torchpick of before" in kept.stderr
    shutil.rmtree(checkout / ".venv")
    gone = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}

    for script, what in (("start", "torchpick's dependencies"), ("test", "pip")):
        done = _start(checkout, script, **gone)
        assert done.returncode == 1
        assert f"error: {what} could not be fetched\n\nhint: it takes the package index once" in done.stderr


@pytest.mark.process
def test_fast_runs_the_tests_of_what_changed_since_main(checkout: Path) -> None:
    for name in ("decide", "doctor", "table", "test_docs.py", "test_library.py"):
        (checkout / "tests" / name).mkdir(parents=True)
    (checkout / "src" / "torchpick" / "decide").mkdir()
    with (checkout / "scripts" / "environment").open("a", encoding="utf-8") as environment:
        environment.write("development() { python=echo; }\n")
    start = "git init -q -b main && git add . && git commit -qm start && git checkout -q -b mine"
    steps.bash(f"{start} && echo 1 > compat/drivers.json && git commit -qam facts", checkout, [], {})
    steps.bash("echo 1 > src/torchpick/one.py && touch src/torchpick/decide/new.py README.md", checkout, [], {})

    done = steps.bash("scripts/test --fast", checkout, [], {})

    names = [word for word in done.stdout.split() if word.startswith("tests/")]
    assert names[2:] == ["tests/decide", "tests/table", "tests/test_docs.py", "tests/test_library.py"]
