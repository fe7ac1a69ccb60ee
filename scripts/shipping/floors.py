"""The floors of the program as a picture: the table that the architecture test holds, drawn."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from html import escape

from scripts.shipping.picture import PICTURES, ROOT, draw

PICTURE = PICTURES / "floors.svg"
SOURCE = ROOT / "src" / "torchpick"
_WIDTH, _HEIGHT, _GAP, _MARGIN = 1040, 64, 12, 16
_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1b2733}.room{fill:#eef4fa;stroke:#7a99b8}.pure{fill:#eef7ee;stroke:#7fae7f}"
    ".name{font-weight:600;font-size:15px}.asks{font-size:12px}"
    "@media(prefers-color-scheme:dark){text{fill:#dbe6f0}.room{fill:#1d2a36;stroke:#58758f}.pure{fill:#1d3022;stroke:#5d8a5d}}"
)


def floors() -> tuple[tuple[str, ...], ...]:
    """The rooms of each floor that are there, the lowest floor first."""
    from tests.test_architecture import FLOORS

    there = [tuple(room for room in rooms if _question(room)) for rooms in FLOORS]
    return tuple(rooms for rooms in there if rooms)


def _question(room: str) -> str:
    """What the room answers: the first sentence of its docstring."""
    for file in (SOURCE / room / "__init__.py", SOURCE / f"{room}.py"):
        if room not in ("__init__", "__main__") and file.is_file():
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            return text.partition("\n")[0].partition("? ")[0].partition(": ")[0] + ("?" if "? " in text else "")
    return ""


def svg() -> str:
    from tests.test_architecture import PURE

    rows = list(reversed(floors()))
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _GAP) - _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="The rooms of torchpick on their floors; a room imports from lower floors alone">',
        f"<style>{_STYLE}</style>",
    ]
    for number, rooms in enumerate(rows):
        width = (_WIDTH - 2 * _MARGIN - (len(rooms) - 1) * _GAP) / len(rooms)
        top = _MARGIN + number * (_HEIGHT + _GAP)
        for place, room in enumerate(rooms):
            left = _MARGIN + place * (width + _GAP)
            look = "pure" if room in PURE else "room"
            parts += [
                f'<rect class="{look}" x="{left:.0f}" y="{top}" width="{width:.0f}" height="{_HEIGHT}" rx="6"/>',
                f'<text class="name" x="{left + 12:.0f}" y="{top + 26}">{escape(room)}</text>',
                *_lines(_question(room), left, top, width),
            ]
    return "\n".join([*parts, "</svg>", ""])


def _lines(text: str, left: float, top: float, width: float) -> list[str]:
    """The question in at most two lines of the box."""
    most = max(12, int((width - 24) / 6.2))
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > most and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [
        f'<text class="asks" x="{left + 12:.0f}" y="{top + 42 + 14 * number}">{escape(line)}</text>'
        for number, line in enumerate(lines[:2])
    ]


def main(words: Sequence[str]) -> int:
    return draw(words, __doc__, PICTURE, svg)
