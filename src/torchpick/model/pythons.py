"""Pythons as a person writes them (`3.12`, `3.14t`), and their tags (`cp312`, `pp310`) as a person reads them."""

from __future__ import annotations

import re
from functools import lru_cache

_VERSION = r"([1-9])\.(\d{1,2})(?:\.\d{1,3})?(t?)"


def version_of(text: str) -> tuple[str, bool] | None:
    """`3.12`, `3.12.4`, `3.14t` as X.Y and whether it is free-threaded; None for what is a path or a command."""
    match = re.fullmatch(_VERSION, text.strip(), re.ASCII)
    return (f"{match[1]}.{int(match[2])}", bool(match[3])) if match else None


def python_name(tag: str) -> str:
    """`cp314t` → `Python 3.14t`."""
    names = {"cp": "Python", "pp": "PyPy"}
    digits = tag[2:].rstrip("t")
    free = "t" if tag.endswith("t") else ""
    return f"{names.get(tag[:2], tag[:2])} {digits[:1]}.{digits[1:]}{free}" if digits else tag


def python_order(tag: str) -> tuple[bool, int]:
    """The newest ordinary interpreter, not a free-threaded one."""
    digits = tag[2:].rstrip("t")
    return (not tag.endswith("t"), int(digits) if digits.isdigit() else 0)


@lru_cache(maxsize=256)  # few sets of tags, many builds
def span(tags: tuple[str, ...]) -> str:
    """`Python 3.9 to 3.13, 3.13t`."""
    plain = sorted((tag for tag in tags if not tag.endswith("t")), key=python_order)
    free = [tag for tag in tags if tag.endswith("t")]
    names = [python_name(tag).removeprefix("Python ") for tag in (*plain[:1], *plain[-1:], *free)]
    if not plain:
        return ", ".join(names) or "none"
    span = names[0] if names[0] == names[1] else f"{names[0]} to {names[1]}"
    return ", ".join([span, *names[2:]])
