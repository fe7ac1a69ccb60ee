"""What reading many wheels costs: two at once against one, a second run against the first, and a Ray cluster.

    python benchmarks/many_wheels.py [ray:ADDRESS]

With ADDRESS run it by the Python of a Ray cluster of two processors (`ray start --head --num-cpus=2`; on loopback alone
with `--node-ip-address=127.0.0.1`, and RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 for both). What Ray takes to begin, which is
a run for one wheel, is not counted: the rest at most a fifth more than `--jobs 2` takes for it.

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

from tests.fakes.loopback import Loopback
from tests.wheels.indexed import GpuIndex, asked

NAMES, DELAY_S, ROUNDS = 200, 0.03, 3
WORDS = ["--python", "3.12", "--platform", "linux-x86_64", "--gpu", "8.0", "--quiet"]


def run(server: Loopback, folder: Path, cache: Path, jobs: int, *more: str, wheels: int = NAMES) -> float:
    """Seconds of the whole process, for so many of the wheels."""
    lines = (folder / "names").read_text("utf-8").splitlines()[:wheels]
    (folder / "asked").write_text("\n".join(lines), "utf-8")
    env = {**os.environ, "PIP_INDEX_URL": f"{server.url}/simple", "TORCHPICK_CACHE_DIR": str(cache)}
    out = folder / f"{cache.name}.jsonl"
    argv = [sys.executable, "-m", "torchpick", "inspect", "--from", str(folder / "asked"), "--out", str(out), *WORDS]
    begun = time.perf_counter()
    done = subprocess.run([*argv, "--jobs", str(jobs), *more], env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    held = out.read_text("utf-8").count("\n") if done.returncode == 0 else 0
    if held != wheels:
        sys.exit(f"--jobs {jobs} ended with {done.returncode} and {held} lines: {done.stderr}{done.stdout}")
    return seconds


def on_ray(server: Loopback, folder: Path, address: str) -> float:
    """How many times as long as `--jobs 2` a cluster of two processors takes, its beginning not counted."""
    ratios = []
    for turn in range(ROUNDS):
        spent = []
        for name, more in (("jobs", ()), ("ray", ("--on", address))):
            whole = run(server, folder, folder / f"{turn}-{name}", 2, *more)
            spent.append(whole - run(server, folder, folder / f"{turn}-{name}-one", 2, *more, wheels=1))
        ratios.append(spent[1] / spent[0])
    return statistics.median(ratios)


def main() -> None:
    index = GpuIndex(NAMES)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with index.serve(DELAY_S).running() as server, tempfile.TemporaryDirectory() as name:
        folder, requests = Path(name), 0
        (folder / "names").write_text("\n".join(f"{name}==1.0" for name in index.names), "utf-8")
        cache = folder
        for turn in range(ROUNDS):
            for jobs, times in seconds.items():  # in turns, so that what else the machine does meets both
                server.log.clear()
                cache = folder / f"{turn}-{jobs}"
                times.append(run(server, folder, cache, jobs))
                requests = sum(asked(server).values())
        server.log.clear()
        again = run(server, folder, cache, 2)
        known = sum(asked(server).values())
        ratio = on_ray(server, folder, sys.argv[1]) if len(sys.argv) > 1 else None
    one, two = (statistics.median(times) for times in seconds.values())
    print(f"{NAMES} wheels, {requests} requests for them, each answered after {DELAY_S * 1000:.0f} ms")
    print(f"{'--jobs 1 takes':<44}{one:6.2f} s")
    print(f"{'--jobs 2 takes':<44}{two:6.2f} s, {one / two:.2f} x as fast")
    print(f"{'a second run':<44}{again:6.2f} s, {known} requests for wheels")
    if ratio is not None:
        print(f"{'on Ray, its beginning not counted':<44}{ratio:6.2f} x as long as --jobs 2")


if __name__ == "__main__":
    main()
