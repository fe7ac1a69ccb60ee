"""What each probe prints when it is run by itself for a bug report: `python -m torchpick.machine.nvml`."""

from __future__ import annotations

import json
import sys


def show(value: object) -> int:
    """Write a value as indented JSON, ASCII only, and return the exit status."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, default=str) + "\n")
    return 0


def _plain(value: object) -> object:
    """Named tuples as objects, so that a reader sees which fact is which."""
    if (names := getattr(value, "_fields", None)) is not None and isinstance(value, tuple):
        return {name: _plain(fact) for name, fact in zip(names, value, strict=True)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value
