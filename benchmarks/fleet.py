"""What many machines cost: processor time and memory by how many there are, and by how many kinds.

    python benchmarks/fleet.py

The aims: 100,000 lines at most 10 s and 60 MB, 800 kinds at most 3 s. Other programs slow a processor down as well, so
each round has the same order and the median of three is shown, also as a multiple of `python -c pass` of that round.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import median

GPUS = ("sm_37", "sm_52", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
DRIVERS = {"sm_37": ("470.256.02",), "sm_100": ("570.124.06", "580.95.05"), "sm_120": ("570.124.06", "595.58.03")}
USUAL = ("525.125.06", "535.183.01", "550.127.05", "570.124.06", "580.95.05")
GLIBCS = ("2.28", "2.31", "2.34", "2.35", "2.36", "2.39")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# Prints its processor time and the peak of its memory when the command is over.
PEAK = (
    "import resource, sys; from torchpick.cli import main; status = main(sys.argv[1:]); "
    "used = resource.getrusage(resource.RUSAGE_SELF); "
    "print(status, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, file=sys.stderr)"
)
ROUNDS = 3


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


def measure(file: Path) -> tuple[float, int, int]:
    """Seconds of a processor, MB and the size of what it prints."""
    argv = [sys.executable, "-c", PEAK, "fleet", str(file), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    status, seconds, peak = done.stderr.split()[-3:]
    assert status in ("0", "3"), done.stderr
    return float(seconds), int(peak), len(done.stdout)


def bare() -> float:
    """Seconds of a processor that an interpreter takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    cases = {
        "10 nodes of 10 kinds": (10, 10),
        "1,000 nodes of 40 kinds": (1_000, 40),
        "30 kinds, exact": (30, 30),
        "800 kinds": (800, 800),
        "100,000 lines of 40 kinds": (100_000, 40),
    }
    rows: dict[str, list[tuple[float, int, int]]] = {name: [] for name in cases}
    bares: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{place}.jsonl" for place, name in enumerate(cases)}
        for name, case in cases.items():
            with files[name].open("w", encoding="utf-8") as stream:
                stream.writelines(lines(*case))
        for _ in range(ROUNDS):
            bares.append(bare())
            for name, file in files.items():
                rows[name].append(measure(file))
    print(f"{'':<28}{'s':>8}{'× bare':>12}{'MB':>8}{'kB of --json':>14}")
    for name, measured in rows.items():
        seconds, peak, size = (median(column) for column in zip(*measured, strict=True))
        print(f"{name:<28}{seconds:>8.2f}{seconds / median(bares):>12.1f}{peak:>8.0f}{size / 1000:>14.0f}")


if __name__ == "__main__":
    main()
