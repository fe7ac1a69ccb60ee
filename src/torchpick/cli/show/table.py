"""Tables for a terminal: columns as wide as needed, what is too long for the last one wrapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchpick.cli.show.text import plain, wrap

# The last column holds sentences: with less room than this it goes below its row.
_LEAST = 24


def lines(rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """The rows aligned, a string each; with a width, every line fits into it."""
    cells = [[plain(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]) - 1)]
    left = sum(widths) + 2 * len(widths)
    found = []
    for row in cells:
        start = "".join(f"{cell.ljust(wide)}  " for cell, wide in zip(row, widths, strict=False))
        if width is None or len(start) + len(row[-1]) <= width:
            found.append((start + row[-1]).rstrip())
        elif width - left < _LEAST:
            below = [f"  {part}" for part in wrap(row[-1], max(width - 4, 1)) if part]
            found.append("\n".join([*wrap(start.rstrip(), width), *below]))
        else:
            first, *more = wrap(row[-1], width - left)
            found.append("\n".join([start + first, *(" " * left + part for part in more)]))
    return found


def headed(rows: Iterable[Sequence[str]], width: int | None, bold: Callable[[str], str]) -> str:
    """The rows aligned, the first of them in bold."""
    head, *rest = lines(rows, width)
    return "\n".join([bold(head), *rest])
