"""Wheels that are read before an answer: a sentence that names them, and on a terminal a line of progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from torchpick.cli.show.progress import Progress
from torchpick.install.sought import Watcher


@contextmanager
def watched(name: str, *, quiet: bool, json: bool) -> Iterator[Watcher]:
    """Who hears of the wheels that are read meanwhile; until then the line says `name`, for what is waited for."""
    progress = Progress(sys.stderr, name, quiet=quiet or json)

    def talk(text: str) -> None:
        if not quiet:
            progress.say(f"torchpick: {text}")
        progress.rename("read")

    with progress.ticking():
        yield Watcher(talk, progress.add)
