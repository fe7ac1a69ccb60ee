"""What many machines cost: time and memory by how many there are, and by how many kinds.

    python benchmarks/fleet.py

The aims: 1,000 nodes of 40 kinds take at most 1.5 s more than 10; 100,000 lines under 60 s and 300 MB; 30 kinds grouped
exactly under 5 s; 800 kinds under 10 s and 200 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

GPUS = ("sm_37", "sm_52", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
DRIVERS = {"sm_37": ("470.256.02",), "sm_100": ("570.124.06", "580.95.05"), "sm_120": ("570.124.06", "595.58.03")}
USUAL = ("525.125.06", "535.183.01", "550.127.05", "570.124.06", "580.95.05")
GLIBCS = ("2.28", "2.31", "2.34", "2.35", "2.36", "2.39")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# Prints the peak of its own memory when the command is over.
PEAK = (
    "import resource, sys; from torchpick.cli import main; status = main(sys.argv[1:]); "
    "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
)


def kinds(count: int) -> list[dict[str, object]]:
    """So many machines of which no two are alike."""
    found: list[dict[str, object]] = [
        {
            "platform": {"os": "linux", "cpu": "x86_64", "glibc": glibc},
            "python": {"version": python},
            "driver": {"version": driver, "source": "nvml"},
            "gpus": [{"index": place, "arch": gpu, "name": gpu, "uuid": None} for place in range(4)],
        }
        for glibc in GLIBCS
        for python in PYTHONS
        for gpu in GPUS
        for driver in DRIVERS.get(gpu, USUAL)
    ]
    step = len(found) / count
    return [found[int(place * step)] for place in range(count)]


def lines(count: int, different: int) -> Iterable[str]:
    """Lines as detect writes them, in no order, each GPU with an identity of its own."""
    machines = kinds(different)
    for place in range(count):
        machine = json.loads(json.dumps(machines[place % different]))
        for gpu in machine["gpus"]:
            gpu["uuid"] = f"GPU-{place:08x}-{gpu['index']}"
        yield json.dumps({"schema": 1, "status": "ok", "machine": {"name": f"n{place:06}", **machine}}) + "\n"


def measure(count: int, different: int, *words: str) -> tuple[float, int, int]:
    """Seconds, MB and the size of what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fleet.jsonl"
        with file.open("w") as stream:
            stream.writelines(lines(count, different))
        begun = time.perf_counter()
        argv = [sys.executable, "-c", PEAK, "fleet", str(file), "--json", *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
    status, peak = done.stderr.split()[-2:]
    assert status in ("0", "3"), done.stderr
    return seconds, int(peak), len(done.stdout)


def main() -> None:
    ten = measure(10, 10)
    rows = {
        "10 nodes of 10 kinds": ten,
        "1,000 nodes of 40 kinds": measure(1_000, 40),
        "30 kinds, exact": measure(30, 30),
        "800 kinds": measure(800, 800),
        "100,000 lines of 40 kinds": measure(100_000, 40),
    }
    print(f"{'':<28}{'s':>8}{'× 10 nodes':>12}{'MB':>8}{'kB of --json':>14}")
    for name, (seconds, peak, size) in rows.items():
        print(f"{name:<28}{seconds:>8.2f}{seconds / ten[0]:>12.1f}{peak:>8}{size / 1000:>14.0f}")


if __name__ == "__main__":
    main()
