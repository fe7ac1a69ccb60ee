"""What the kernel holds a process to: its memory, its time on a processor, and that it dies with its parent."""

from __future__ import annotations

import math
import os
import signal
import sys
from contextlib import suppress

# What a probe may take beyond what it began with. NVML needs some 50 MB; libcuda reserves address space, which does not
# count (RLIMIT_DATA counts what can be written; setrlimit(2), Linux 4.7).
_MOST_MEMORY = 2 << 30
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def confine(limit_s: float) -> None:
    """Let the kernel bound this process: its memory, its time on a processor, and that it dies with its parent.

    What it runs may block every signal and never return, so nothing here relies on its help.
    """
    import resource

    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, math.ceil(limit_s) + 2)
    if not sys.platform.startswith("linux"):
        return
    _limit(resource.RLIMIT_DATA, _data() + _MOST_MEMORY)
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _limit(kind: int, most: int) -> None:
    """Lower a limit, soft and hard; one that is lower already stays."""
    import resource

    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


def _data() -> int:
    """The bytes of data that this process has already: a fork begins with all that its parent has."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read(200).split()[5]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0
