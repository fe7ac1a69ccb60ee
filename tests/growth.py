"""Whether a thing costs time in line with the size of what it reads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

ROUNDS = 4


def in_line(work: Callable[[int], object], sizes: Sequence[int], floor: float) -> None:
    """Twice the size takes at most three times as long, where it takes `floor` seconds or more; a square takes four.

    The clocks of shared machines jump, so what looks like a square is measured again, and the least counts.
    """
    least = [float("inf")] * len(sizes)
    for _ in range(ROUNDS):
        least = [min(before, _seconds(work, size)) for before, size in zip(least, sizes, strict=True)]
        if all(
            after < 3 ** math.log2(larger / smaller) * max(before, floor)
            for (before, after), (smaller, larger) in zip(pairwise(least), pairwise(sizes), strict=True)
        ):
            return
    raise AssertionError(f"{list(sizes)} took {least}")


def _seconds(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
