"""Small tables for notebooks, every word of them escaped: names come from drivers, files and packages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(rows: Iterable[Sequence[str]], heads: Sequence[str] = (), title: str = "") -> str:
    """A table; without heads the first cell of a row is its heading."""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = f"<tr>{''.join(f'<th>{escape(each)}</th>' for each in heads)}</tr>" if heads else ""
    return f"<table>{caption}{head}{''.join(_row(row, headed=not heads) for row in rows)}</table>"


def _row(cells: Sequence[str], *, headed: bool) -> str:
    first = f"<th>{escape(cells[0])}</th>" if headed else f"<td>{escape(cells[0])}</td>"
    return f"<tr>{first}{''.join(f'<td>{escape(each)}</td>' for each in cells[1:])}</tr>"
