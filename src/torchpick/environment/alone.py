"""What each probe prints when it is run by itself for a bug report: `python -m torchpick.machine.nvml`."""

from __future__ import annotations

import json
import sys

from torchpick.model.fields import plain


def show(value: object) -> int:
    """Write a value as indented JSON, ASCII only, and return the exit status."""
    sys.stdout.write(json.dumps(plain(value), indent=2, default=str) + "\n")
    return 0
