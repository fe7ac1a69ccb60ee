"""The names of GPUs that `torchpick matrix --html` puts into its page, made once in a process: they take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from torchpick.cli import webpage
from torchpick.knowledge.compat import Knowledge

_make = webpage.names


@cache
def _made(arches: tuple[str, ...]) -> Any:
    return _make(Knowledge({"TORCHPICK_CACHE_DIR": "/nonexistent"}), arches)


def names(_knowledge: Knowledge, arches: Sequence[str]) -> Any:
    """In the place of `webpage.names`."""
    return _made(tuple(arches))
