"""The terminal: whether it is one, how wide it is, and whether colour is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def coloured(choice: str, stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """`--color` first, then NO_COLOR, then FORCE_COLOR, then whether the stream is a terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


def width(environ: Mapping[str, str] = os.environ) -> int | None:
    """The terminal's width for stdout, or None where the output goes elsewhere and may be as wide as it is."""
    told = environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None
