"""A value as JSON has it, with one thing in it another."""

from __future__ import annotations

import copy
from typing import Any


def altered(good: object, path: str, value: object) -> object:
    """A copy with this value at a path such as `gpus.0.arch`."""
    whole = copy.deepcopy(good)
    here: Any = whole
    *way, last = path.split(".")
    for step in way:
        here = here[int(step)] if step.isdigit() else here[step]
    here[last] = value
    return whole
