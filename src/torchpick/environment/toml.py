"""TOML as data; project files, whose comments are kept, have a reader of their own."""

from __future__ import annotations

import sys
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


def dumps(table: Mapping[str, object]) -> str:
    import tomlkit

    return tomlkit.dumps(table)


def _is_deep(value: object) -> bool:
    """Whether tables and lists stand in one another so deep that nobody means it; a dotted key makes a table a dot."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        below: list[object] = []
        for table in level:
            below += table.values() if isinstance(table, Mapping) else table if isinstance(table, list) else ()
        if not below:
            return False
        level = below
    return True
