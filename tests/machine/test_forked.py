"""What needs a process without threads, which a worker of xdist is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on Windows")
@pytest.mark.long
def test_what_forks_works_in_a_process_of_its_own() -> None:
    words = ["-p", "no:xdist", "-q", "-rs", "-m", "fork", "tests/machine"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    # Half of them start stand-in libraries of C, and are skipped where there is no compiler.
    compiles = shutil.which("cc") is not None
    assert int(passed[1]) >= (12 if compiles else 6)
    assert ("skipped" in done.stdout) is not compiles
