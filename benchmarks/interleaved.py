"""Times whole processes side by side: a round runs each command once, so a slow moment of the machine hits all.

Figures are ratios of medians; absolute times of a shared machine mean little, and processor time more than the clock's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def environment(*packages: str) -> Path:
    """A fresh virtual environment with torchpick installed as a wheel, byte-compiled, and these packages beside it.

    By a pip whose commands do not import `re` themselves: 25.2 or later, as uv's.
    """
    folder = Path(tempfile.mkdtemp(prefix="torchpick-bench-"))
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", *quiet]
    subprocess.run([*pip, "--upgrade", "pip>=25.2"], check=True)
    subprocess.run([*pip, str(ROOT), *packages], check=True)
    return folder


def medians(
    commands: Mapping[str, Sequence[str]],
    rounds: int = 31,
    environ: Mapping[str, str] = os.environ,
    *,
    processor: bool = False,
) -> dict[str, float]:
    """Median time of each command over interleaved rounds, after one round that is not counted.

    By the clock, or what it took of the `processor`, in all of its processes.
    """
    env = {name: value for name, value in environ.items() if not name.startswith(("TORCHPICK_", "PYTHON"))}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            start = _spent() if processor else time.perf_counter()
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if turn:
                times[name].append((_spent() if processor else time.perf_counter()) - start)
    return {name: statistics.median(each) for name, each in times.items()}


def _spent() -> float:
    """Seconds of the processor that the children which ended took."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mebibytes(command: Sequence[str]) -> float:
    """The largest resident memory of a run, asked in a process of its own so that no other child counts."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return int(done.stdout) / unit


_COUNTING = """
import sys
files = []
def hear(event, arguments):
    # One that is opened without waiting for a writer is told twice.
    if event == "open" and files[-1:] != [str(arguments[0])]:
        files.append(str(arguments[0]))
sys.addaudithook(hear)
from torchpick.cli import main
main(sys.argv[1:])
sys.stderr.write(str(len(files)))
"""


def opened(folder: Path, words: Sequence[str]) -> int:
    """How many files a command of ours opens after the interpreter has started, as the interpreter itself tells."""
    python = str(folder / "bin" / "python")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHPICK_", "PYTHON"))}
    done = subprocess.run([python, "-c", _COUNTING, *words], capture_output=True, text=True, check=True, env=env)
    return int(done.stderr.splitlines()[-1])


def table(times: Mapping[str, float], unit: str) -> str:
    """Each time as a multiple of the unit's."""
    return "\n".join(f"{name:<44}{value / times[unit]:6.2f} x" for name, value in times.items())


__all__ = ["environment", "medians", "opened", "peak_mebibytes", "table"]
