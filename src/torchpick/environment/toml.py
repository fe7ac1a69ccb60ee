"""TOML as data, and values as TOML."""

from __future__ import annotations

import sys

from torchpick.errors import TorchpickError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_DEEPEST = 100
_TOO_DEEP = f"nested deeper than {_DEEPEST} tables"


def loads(text: str) -> dict[str, Any]:
    """The table in the text; ValueError where there is none, for a deep nest or a number of 5,000 digits too."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if _is_deep(table):
        raise ValueError(_TOO_DEEP)
    return table


def read(text: str, what: str = "it") -> dict[str, Any]:
    """The table in the text; `what` is its name in an error."""
    try:
        return loads(text)
    except ValueError as error:
        raise TorchpickError(f"{what} is not TOML: {error}", hint="fix that line first", code="TOML") from error


def inline(value: object) -> str:
    """A value as it stands on one line; of strings, booleans, lists and tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key(name)} = {inline(item)}" for name, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inline, value)) + "]"
    import json

    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")


def key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "x")
    return name if bare.isascii() and bare.isalnum() else inline(name)


def table_at(data: object, *path: str) -> Mapping[str, Any]:
    """The table there; empty where there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def texts(value: object) -> list[str]:
    """The strings of a list; empty for anything else."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def tables(value: object) -> list[Mapping[str, Any]]:
    """The tables of a list, or the one that stands in its place; none for anything else."""
    return [table for table in (value if isinstance(value, list) else [value]) if isinstance(table, dict)]


def _is_deep(value: object) -> bool:
    """Whether tables and lists stand in one another so deep that nobody means it; a dotted key makes a table a dot."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        below: list[object] = []
        for table in level:
            below += table.values() if isinstance(table, dict) else table if isinstance(table, list) else ()
        if not below:
            return False
        level = below
    return True
