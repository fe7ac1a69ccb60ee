"""How the suite may be run: on Windows, as the workflows do it, and where Ctrl-C is ignored."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = ("ci", "release")
# What reads nothing of the system that it runs on is collected there, and answers as it does here.
PURE = ("tests/decide/test_commands.py", "tests/test_commands.py")


def windows_arguments(workflow: str) -> set[str]:
    """What pytest is called with in the jobs that run on Windows."""
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8")
    jobs = re.split(r"^  (?=[\w-]+:$)", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
    on_windows = "".join(job for job in jobs if "windows-" in job)
    return set(re.findall(r"python -m pytest (.+)$", on_windows, re.MULTILINE))


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="the made-up Windows is for other systems")
@pytest.mark.parametrize("arguments", sorted(set[str]().union(*map(windows_arguments, WORKFLOWS))))
def test_windows_collects_every_module_and_answers_the_recorded_command_lines(arguments: str) -> None:
    words = ["-p", "tests.fakes.windows", *shlex.split(arguments), "-n", "0", "-q", "-k", "test_commands.py"]
    for pure in PURE:
        words += ["--deselect", pure]

    done = run([sys.executable, "-m", "pytest", *words])

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-1000:]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_each_workflow_has_a_job_on_windows(workflow: str) -> None:
    assert windows_arguments(workflow)


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to ignore")
def test_started_in_the_background_and_without_xdist_a_test_still_interrupts_what_it_starts() -> None:
    """A shell's `&`, cron and agents let a run ignore SIGINT, and whatever it starts inherits that."""
    words = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-q", "tests/install/test_run.py", "-k", "interrupt"]

    done = run(["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *words])

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
