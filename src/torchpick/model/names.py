"""A project's name in its canonical form (PEP 503)."""

from __future__ import annotations

import re

_RUN = re.compile(r"[-_.]+")


def normal(name: str) -> str:
    """The name as indexes spell it."""
    return _RUN.sub("-", name).lower()
