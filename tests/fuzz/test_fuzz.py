"""Every reader fuzzed: a little each day, much in the long part, and with an eye on coverage where atheris is."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.targets import EXPECTED, TARGETS, seeds

FUZZER = Path(__file__).with_name("fuzz_wheels.py")
SECONDS = int(os.environ.get("FUZZ_SECONDS", "4"))
CASES = int(os.environ.get("FUZZ_CASES", "300000"))
NUMBER = b"9" * 5000


@pytest.mark.parametrize("target", TARGETS)
def test_a_few_inputs_of_each_reader(target: str) -> None:
    outcome = run.fuzzed(target, 60, "1")

    assert not outcome.findings, outcome.findings[:3]


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_five_thousand_digits_are_read_or_refused(target: str) -> None:
    for seed in seeds(target):
        for place in [at for at, byte in enumerate(seed[:2000]) if byte in b"0123456789"]:
            with contextlib.suppress(*EXPECTED):
                TARGETS[target](seed[:place] + NUMBER + seed[place + 1 :])


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_foreign_escapes_a_reader(target: str, count: Callable[[str, int, int], None]) -> None:
    outcome = run.together(list(run.run(CASES // len(TARGETS), 2, 1, [target])))

    count(f"fuzz of {target}", outcome.cases, outcome.cases - len(outcome.findings))
    assert not outcome.findings, outcome.findings[:3]


@pytest.mark.long
@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="no atheris")
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_escapes(target: str, tmp_path: Path) -> None:
    limits = [f"-max_total_time={SECONDS}", "-rss_limit_mb=512", "-timeout=10", "-max_len=40000", "-verbosity=0"]
    line = [sys.executable, str(FUZZER), target, str(tmp_path / "corpus"), *limits, f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS * 4 + 120, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
