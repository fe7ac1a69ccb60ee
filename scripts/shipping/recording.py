"""README's picture: a terminal with a command and what it really prints, as SVG for light and dark pages.

The commands are run when the picture is made; tests/shipping/test_pictures.py runs them again and compares.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from tempfile import TemporaryDirectory
from typing import NamedTuple

from scripts.shipping.picture import PICTURES, ROOT, draw

PICTURE = PICTURES / "terminal.svg"
COLUMNS = 100
COMMANDS = (
    'torchpick --gpu "GTX 1080 Ti" --driver 580.97 --platform windows-x86_64 --python 3.12',
    'torchpick url --gpu "RTX 5090" --driver 570.26 --platform linux-x86_64 --python 3.12 --quiet',
    "torchpick url --gpu a100 --driver 535.183.01 --platform linux-x86_64 --python 3.12 --quiet",
)
_CELL, _LINE, _MARGIN, _BAR = 8.4, 19, 16, 34
_STYLE = (
    ".window{fill:#f6f8fa;stroke:#d0d7de}.bar{fill:#eaeef2}.dot{fill:#afb8c1}"
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#24292f;white-space:pre}"
    ".b{font-weight:700;fill:#0b4a20}.p{fill:#57606a}.c{font-weight:700}"
    "@media(prefers-color-scheme:dark){.window{fill:#0d1117;stroke:#30363d}.bar{fill:#161b22}.dot{fill:#484f58}"
    "text{fill:#c9d1d9}.b{fill:#a5e8ba}.p{fill:#8b949e}}"
)
_BOLD = re.compile("\x1b\\[([\\d;]*)m")


class Span(NamedTuple):
    """Text of one look within a line; `kind` is a class of the style, empty for plain text."""

    text: str
    kind: str


Line = list[Span]


def lines() -> list[Line]:
    """The whole screen: each command behind its prompt, and what it prints, broken where the screen ends."""
    found: list[Line] = []
    for command in COMMANDS:
        found += [*([[]] if found else []), *_broken([Span("$ ", "p"), Span(command, "c")])]
        for line in printed(command, colour=True).splitlines():
            found += _broken(_spans(line))
    return found


def printed(command: str, *, colour: bool = False) -> str:
    """What the command prints on a screen of this width, on a computer of which nothing is known."""
    words = shlex.split(command)
    program = [sys.executable, "-m", "torchpick", *words[1:]]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TORCHPICK_", "NO_COLOR", "FORCE"))
    }
    with TemporaryDirectory(prefix="torchpick-recording-") as folder:
        environ = {**kept, "COLUMNS": str(COLUMNS), "TORCHPICK_CACHE_DIR": folder, "PYTHONPATH": str(ROOT / "src")}
        # Colours are for a terminal alone.
        reads, writes = os.openpty() if colour else os.pipe()
        with subprocess.Popen(program, stdout=writes, stderr=writes, env={**environ, "TERM": "xterm"}) as done:
            os.close(writes)
            shown = b"".join(_chunks(reads)).decode().replace("\r\n", "\n")
        os.close(reads)
    if done.returncode:
        raise SystemExit(f"error: `{command}` exits {done.returncode}\n{shown}")
    return shown


def _chunks(reads: int) -> Iterator[bytes]:
    """What comes until the other end is closed, which a terminal says by an error."""
    with suppress(OSError):
        while chunk := os.read(reads, 65536):
            yield chunk


def _spans(line: str) -> Line:
    found, kind = [], ""
    for place, part in enumerate(_BOLD.split(line)):
        if place % 2:
            kind = "b" if part.startswith("1") else ""
        elif part:
            found.append(Span(part, kind))
    return found


def _broken(line: Line) -> Iterator[Line]:
    """As a terminal breaks it: at its last column."""
    left: Line = []
    room = COLUMNS
    for text, kind in line:
        rest = text
        while len(rest) > room:
            yield [*left, Span(rest[:room], kind)]
            left, rest, room = [], rest[room:], COLUMNS
        left.append(Span(rest, kind))
        room -= len(rest)
    yield left


def svg(screen: Sequence[Line]) -> str:
    width = round(COLUMNS * _CELL + 2 * _MARGIN)
    height = _BAR + _MARGIN + len(screen) * _LINE + _MARGIN // 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-label="A terminal: torchpick picks torch 2.14.1+cu126 for a GTX 1080 Ti and says why none newer runs">',
        f"<style>{_STYLE}</style>",
        f'<rect class="window" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<path class="bar" d="M1 {_BAR}V8.5a7.5 7.5 0 0 1 7.5-7.5H{width - 8.5}a7.5 7.5 0 0 1 7.5 7.5V{_BAR}z"/>',
        *(f'<circle class="dot" cx="{20 + 18 * place}" cy="17" r="5.5"/>' for place in range(3)),
    ]
    for number, line in enumerate(screen):
        column = 0
        for text, kind in line:
            if text.strip():
                look = f' class="{kind}"' if kind else ""
                # Whatever font the reader has, a letter stands in its own column.
                parts.append(
                    f'<text{look} x="{_MARGIN + column * _CELL:.1f}" y="{_BAR + _MARGIN + number * _LINE + 6}"'
                    f' textLength="{len(text) * _CELL:.1f}" xml:space="preserve">{escape(text, quote=False)}</text>'
                )
            column += len(text)
    return "\n".join([*parts, "</svg>", ""])


def main(words: Sequence[str]) -> int:
    return draw(words, __doc__, PICTURE, lambda: svg(lines()))
