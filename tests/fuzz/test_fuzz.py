"""A few seconds of the fuzzer for each of its targets; run it by hand for longer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).with_name("fuzz_wheels.py")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="no atheris"),
]
SECONDS = int(os.environ.get("FUZZ_SECONDS", "4"))


@pytest.mark.parametrize("target", ["archive", "library", "page", "report", "flags"])
def test_nothing_escapes(target: str, tmp_path: Path) -> None:
    limits = [f"-max_total_time={SECONDS}", "-rss_limit_mb=512", "-timeout=10", "-max_len=40000", "-verbosity=0"]
    line = [sys.executable, str(FUZZER), target, str(tmp_path / "corpus"), *limits, f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS * 4 + 120, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
