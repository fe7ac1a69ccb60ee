"""The line of `torchpick url`, as it stands in bash, in front of real pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")]
TORCHPICK = f"{sys.executable} -m torchpick"


def bash(line: str, home: Path) -> subprocess.CompletedProcess[str]:
    # Nothing answers at this proxy: what pip would fetch fails at once, what it parses shows.
    closed = {"PIP_PROXY": "http://127.0.0.1:9", "PIP_RETRIES": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_CONFIG_FILE": os.devnull, **closed}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, env=env, check=False)


def test_pip_parses_the_line(tmp_path: Path) -> None:
    done = bash(
        f"{sys.executable} -m pip install --dry-run $({TORCHPICK} url --quiet --gpu sm_80 --driver 535.183.01)",
        tmp_path,
    )

    assert "Looking in indexes: https://download.pytorch.org/whl/cu126" in done.stdout
    assert "torch==2.14.1+cu126" in done.stderr
    assert "no such option" not in done.stderr


def test_where_no_build_runs_pip_fails_and_asks_no_index(tmp_path: Path) -> None:
    done = bash(
        f"{sys.executable} -m pip install --dry-run $({TORCHPICK} url --gpu sm_120 --driver 560.28.03) torchvision",
        tmp_path,
    )

    assert done.returncode != 0
    assert "no.build.runs.here" in done.stderr
    assert "Looking in indexes" not in done.stdout
    assert "error: no PyTorch build runs for sm_120" in done.stderr


@pytest.mark.parametrize(
    ("redirection", "status"),
    [
        *((">&-", 141), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1), ("| head -c 1 >/dev/null", 0)),
        *(("--verbose 2>/dev/full", 0), ("--verbose >/dev/full 2>&1", 1)),
        ("--verbose >&3 2>&1", 141),  # nobody reads it any more
    ],
)
def test_closed_and_full_streams_end_quietly(redirection: str, status: int, tmp_path: Path) -> None:
    done = bash(f"exec 3> >(:); wait $!; {TORCHPICK} url --gpu sm_61 --driver 580.95.05 {redirection}", tmp_path)

    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert done.stdout in ("", "--index-url https://download.pytorch.org/whl/cu126 torch==2.14.1+cu126\n")


def test_without_stdin_the_machines_to_read_from_it_are_missed_and_pip_is_stopped(tmp_path: Path) -> None:
    done = bash(f"{TORCHPICK} url --machine - <&-", tmp_path)

    assert (done.returncode, done.stdout) == (2, "--no-index torch==0+see.the.error\n")
