"""What a survey of many wheels costs: two readers against one, and a second run against the first.

    python benchmarks/survey.py

The index is on loopback and answers after 30 ms, as one on the web does. The aims: `--jobs 2` at least 1.8 times as
fast as `--jobs 1`, and a second run that reads no wheel. A run that fails ends the benchmark.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cluster.surveying import GpuIndex, asked
from tests.fakes.loopback import Loopback

NAMES, VERSIONS, DELAY_S, ROUNDS = 4, 50, 0.03, 3


def run(server: Loopback, folder: Path, cache: Path, jobs: int, names: list[str]) -> float:
    """Seconds of the whole process."""
    env = {**os.environ, "PIP_INDEX_URL": f"{server.url}/simple", "TORCHPICK_CACHE_DIR": str(cache)}
    argv = [sys.executable, "-m", "torchpick", "survey", *names, "--newest", str(VERSIONS), "--out", str(folder)]
    begun = time.perf_counter()
    done = subprocess.run([*argv, "--quiet", "--jobs", str(jobs)], env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    held = (folder / "packages.jsonl").read_text().count("\n") if done.returncode == 0 else 0
    if held != NAMES * VERSIONS:
        sys.exit(f"--jobs {jobs} ended with {done.returncode} and {held} rows: {done.stderr}{done.stdout}")
    return seconds


def main() -> None:
    index = GpuIndex(NAMES, versions=VERSIONS)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with index.serve(DELAY_S).running() as server, tempfile.TemporaryDirectory() as folder:
        place, requests = Path(folder), 0
        for turn in range(ROUNDS):
            for jobs, times in seconds.items():  # in turns, so that what else the machine does meets both
                server.log.clear()
                place = Path(folder, f"{turn}-{jobs}")
                times.append(run(server, place, place / "cache", jobs, index.names))
                requests = sum(asked(server).values())
        server.log.clear()
        again = run(server, place, place / "cache", 2, index.names)
        known = sum(asked(server).values())
        elsewhere = run(server, Path(folder, "other"), place / "cache", 2, index.names)
        cached = sum(asked(server).values()) - known
    one, two = (statistics.median(times) for times in seconds.values())
    print(f"{NAMES * VERSIONS} wheels, {requests} requests for them, each answered after {DELAY_S * 1000:.0f} ms")
    print(f"{'--jobs 1 takes':<44}{one:6.2f} s")
    print(f"{'--jobs 2 takes':<44}{two:6.2f} s, {one / two:.2f} x as fast")
    print(f"{'a second run into the same folder':<44}{again:6.2f} s, {known} requests for wheels")
    print(f"{'a second run into another folder':<44}{elsewhere:6.2f} s, {cached} requests for wheels")


if __name__ == "__main__":
    main()
