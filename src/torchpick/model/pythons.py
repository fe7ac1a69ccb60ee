"""Pythons as a person writes them (`3.12`, `3.14t`), and their tags (`cp312`, `pp310`) as a person reads them."""

from __future__ import annotations

from torchpick.model.noun import Noun
from torchpick.model.versions import remembered

# The first part of a wheel's Python tag, by the interpreter's own name.
IMPLEMENTATIONS = {"cpython": "cp", "pypy": "pp", "graalpy": "graalpy"}
_VERSION = r"([1-9])\.(\d{1,2})(?:\.\d{1,3})?(t?)"


class PythonVersion(Noun):
    """A Python as X.Y, and whether it is free-threaded."""

    number: str
    free_threaded: bool


def version_of(text: str) -> PythonVersion | None:
    """Reads `3.12`, `3.12.4`, `3.14t`; None for what is a path or a command."""
    import re

    match = re.fullmatch(_VERSION, text.strip(), re.ASCII)
    return PythonVersion(f"{match[1]}.{int(match[2])}", bool(match[3])) if match else None


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


@remembered  # few sets of tags, many builds
def span(tags: tuple[str, ...]) -> str:
    """`3.9 to 3.13, 3.13t`; a gap stays a gap: `3.6 to 3.8, 3.14`."""
    runs: list[list[str]] = []
    for tag in sorted((tag for tag in tags if not tag.endswith("t")), key=python_order):
        if runs and python_order(tag)[1] == python_order(runs[-1][-1])[1] + _step(runs[-1][-1]):
            runs[-1].append(tag)
        else:
            runs.append([tag])
    words = [_plain(run[0]) if len(run) == 1 else f"{_plain(run[0])} to {_plain(run[-1])}" for run in runs]
    return ", ".join([*words, *(_plain(tag) for tag in tags if tag.endswith("t"))]) or "none"


def _plain(tag: str) -> str:
    return python_name(tag).removeprefix("Python ")


def _step(tag: str) -> int:
    """From cp39 to cp310 the digits jump; everywhere else the next minor is the next number."""
    return 310 - 39 if tag == "cp39" else 1
