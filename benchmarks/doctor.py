"""How long doctor looks at an environment, beside `import torch` in it; and how long explain takes for a line.

    python benchmarks/doctor.py PYTHON [ROUNDS]

PYTHON is that of an environment with torch and its CUDA packages (torch 2.15.0: 5 GB). The aim: doctor, warm, in
less than a quarter of the time of `import torch` there, explain of one line under 5 bare interpreters. The exit
status is 1 where one is missed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved

DOCTOR = 0.25
EXPLAIN = 5.0
LINE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    python = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    folder = interleaved.environment()
    try:
        torchpick = str(folder / "bin" / "torchpick")
        old = ["--gpu", "sm_61", "--driver", "580.95.05"]
        doctor = {
            "import torch": [python, "-c", "import torch"],
            "torchpick doctor": [torchpick, "doctor", "--python", python],
            "the same with findings": [torchpick, "doctor", "--python", python, *old],
        }
        explain = {
            "python -c pass": [str(folder / "bin" / "python"), "-c", "pass"],
            "torchpick explain LINE": [torchpick, "explain", LINE, *old],
            "the same, no install problem": [torchpick, "explain", "CUDA out of memory"],
        }
        slow = interleaved.medians(doctor, rounds)
        quick = interleaved.medians(explain, rounds * 3)
    finally:
        shutil.rmtree(folder)
    print(interleaved.table(slow, "import torch"))
    print(interleaved.table(quick, "python -c pass"))
    missed = slow["torchpick doctor"] > DOCTOR * slow["import torch"]
    missed |= quick["torchpick explain LINE"] > EXPLAIN * quick["python -c pass"]
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
