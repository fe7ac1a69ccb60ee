"""A project's name in its canonical form (PEP 503), and several names in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RUN = re.compile(r"[-_.]+")


def normal(name: str) -> str:
    """The name as indexes spell it."""
    return _RUN.sub("-", name).lower()


def first_three(names: Sequence[str]) -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
