"""What detection costs, in multiples of `python -c pass`, all cases interleaved in one run.

    python benchmarks/detect.py [ROUNDS]

Two promises are held here, and the exit status is 1 where one is broken: over a machine that is told, a healthy driver
library that answers at once adds at most 4 bare interpreters, and a computer without any sign of NVIDIA less than 1.
The driver library is a compiled stand-in: what NVIDIA's own takes for its work is not in these figures.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.fakes.nvidia import compile_fake, gpu  # noqa: E402  # the checkout is not installed

MOST_WITH_DRIVER = 4.0
MOST_WITHOUT = 1.0


class Case(NamedTuple):
    name: str
    words: list[str]
    environ: dict[str, str]


def cases(folder: Path) -> list[Case]:
    """A bare interpreter, a told machine, this computer without and with the stand-in driver."""
    for name in ("libnvidia-ml", "libcuda"):
        compile_fake(name, folder)
    config = folder / "fake.conf"
    config.write_text(gpu(1, "6.1", "NVIDIA GeForce GTX 1080 Ti") + "\n", "utf-8")
    plain = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT / "src")}
    driver = {**plain, "LD_LIBRARY_PATH": str(folder), "FAKE_NVIDIA": str(config)}
    detect = ["-m", "torchpick", "detect", "--json"]
    return [
        Case("python -c pass", ["-c", "pass"], plain),
        Case("told", [*detect, "--gpu", "sm_61", "--driver", "580.95.05"], plain),
        Case("no NVIDIA", detect, plain),
        Case("healthy driver", detect, driver),
    ]


def measure(listed: list[Case], rounds: int) -> dict[str, float]:
    """The median wall time of each case in ms; every round runs each once, so that a busy machine slows them alike."""
    times: dict[str, list[float]] = {case.name: [] for case in listed}
    for _ in range(rounds + 1):
        for case in listed:
            began = time.perf_counter()
            # No timeout: waiting with one polls in steps of up to 50 ms.
            subprocess.run([sys.executable, *case.words], env=case.environ, stdout=subprocess.DEVNULL, check=True)
            times[case.name].append((time.perf_counter() - began) * 1000)
    # The first round writes .pyc files.
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    with tempfile.TemporaryDirectory() as folder:
        listed = cases(Path(folder))
        shown = subprocess.run(
            [sys.executable, *listed[2].words], env=listed[2].environ, capture_output=True, text=True, check=True
        )
        if '"nvidia"' in shown.stdout:
            print("this computer has an NVIDIA GPU: the case without one is not measured")
            listed.pop(2)
        found = measure(listed, rounds)
    bare, told = found["python -c pass"], found["told"]
    for name, median in found.items():
        print(f"{name:<16}{median:8.1f} ms {median / bare:6.2f} x")
    limits = {"healthy driver": MOST_WITH_DRIVER, "no NVIDIA": MOST_WITHOUT}
    broken = False
    for name, most in limits.items():
        if name in found:
            added = (found[name] - told) / bare
            print(f"{name} adds {added:.2f} x over told, at most {most:.0f}")
            broken = broken or added > most
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main())
