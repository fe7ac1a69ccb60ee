"""What programs and notebooks are shown: the JSON envelope that every command prints under --json, and small tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from torchpick.model import VERSION
from torchpick.model.fields import plain
from torchpick.model.redaction import redacted_json

SCHEMA = 1


def new(command: str, *, status: str = "ok", exit_status: int = 0, **facts: object) -> dict[str, object]:
    """The envelope with the keys that are always there, and this command's facts."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "command": command,
        "status": status,
        "exit": exit_status,
        **facts,
    }


def dumps(value: dict[str, object]) -> str:
    """One line with the nouns in it as JSON, for a pipe and for `--machine`: without secrets, and in ASCII alone."""
    return json.dumps(redacted_json(plain(value)), separators=(", ", ": "))


def html_table(rows: Iterable[Sequence[str]], heads: Sequence[str] = (), title: str = "") -> str:
    """A table; without heads the first cell of a row is its heading."""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = f"<tr>{''.join(f'<th>{escape(heading)}</th>' for heading in heads)}</tr>" if heads else ""
    return f"<table>{caption}{head}{''.join(_row(row, headed=not heads) for row in rows)}</table>"


def _row(cells: Sequence[str], *, headed: bool) -> str:
    first = f"<th>{escape(cells[0])}</th>" if headed else f"<td>{escape(cells[0])}</td>"
    return f"<tr>{first}{''.join(f'<td>{escape(cell)}</td>' for cell in cells[1:])}</tr>"
