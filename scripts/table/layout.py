"""How a readable file of compat/ looks: one key a line, lists of plain values on one line, so that diffs read well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchpick.model.machine import PLATFORMS as CONTRACT_PLATFORMS

# linux-s390x has CPU wheels and no contract name of its own; it is kept because those wheels exist.
PLATFORMS = (*CONTRACT_PLATFORMS, "linux-s390x")
_WIDTH = 116


def readable(value: object, indent: int = 0) -> str:
    """JSON text for people: what fits a line stays on it."""
    line = json.dumps(value, ensure_ascii=False)
    flat = not isinstance(value, (dict, list)) or not any(isinstance(part, (dict, list)) for part in _parts(value))
    if not value or (flat and not isinstance(value, dict)) or (flat and indent and len(line) <= _WIDTH - indent):
        return line
    inner = " " * (indent + 1)
    if isinstance(value, Mapping):
        rows = [f"{inner}{json.dumps(str(key))}: {readable(part, indent + 1)}" for key, part in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        rows = [inner + readable(part, indent + 1) for part in value]
        return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"
    return line


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def write(path: Path, value: object) -> None:
    """Write a readable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(readable(value) + "\n", encoding="utf-8", newline="\n")


def write_compact(path: Path, value: object) -> None:
    """Write a file for the program, where it is not there as it must be: ASCII, no blanks."""
    text = json.dumps(value, separators=(",", ":")) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")


def read(path: Path) -> Any:  # noqa: ANN401 # whatever JSON it holds
    return json.loads(path.read_text(encoding="utf-8"))
