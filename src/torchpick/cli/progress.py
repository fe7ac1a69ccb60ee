"""What long work reports, on stderr: its sentences, and on a terminal one line that shows that it goes on.

The line only where a person watches: never in a pipe, never with --quiet. It is erased before anything else is printed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import note, plain, wrap
from torchpick.errors import Expected

# Often enough to look alive, seldom enough to cost nothing.
_EVERY_S = 0.1
# A wait without news: the seconds go on.
_TICK_S = 0.5


class Progress:
    """A `Report`: a sentence is printed and stays, bytes are counted on the line."""

    def __init__(
        self, stream: TextIO, columns: int | None, *, quiet: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._columns, self._quiet, self._clock = stream, columns, quiet, clock
        self._live = stream.isatty() and not quiet
        self._waits = ""
        self._bytes = self._expected = 0
        self._began = self._drawn_at = clock()
        self._width = 0
        self._lock = threading.Lock()  # several readers may report at once

    def __call__(self, news: str | int) -> None:
        with self._lock:
            if isinstance(news, Expected):
                self._expected = max(self._expected, self._bytes) + news
            elif isinstance(news, int):
                self._bytes += news
                self._draw()
            elif not self._quiet:
                self._write("\n".join([*wrap(note(news, "torchpick"), self._columns), ""]))

    def clear(self) -> None:
        """Leave a clean line, also after Ctrl-C."""
        with self._lock:
            self._write("")

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """While something may be waited for that brings no news, such as a resolution: the seconds are seen to pass."""
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(over,), daemon=True)
        self._waits, self._bytes, self._expected, self._began = plain(what), 0, 0, self._clock()
        if self._live:
            ticker.start()
        try:
            yield
        finally:
            over.set()
            if self._live:
                ticker.join()
            self.clear()

    def _tick(self, over: threading.Event) -> None:
        while not over.wait(_TICK_S):
            with self._lock:
                self._draw()

    def _write(self, text: str) -> None:
        """The text in the place of the line, all at once: others write on that terminal too."""
        erased = "\r" + " " * self._width + "\r" if self._width else ""
        self._width = 0
        if erased or text:
            console.write(self._stream, erased + text)

    def _draw(self) -> None:
        now = self._clock()
        if not self._live or now - self._drawn_at < _EVERY_S:
            return
        self._drawn_at = now
        line = self._line(now - self._began)
        console.write(self._stream, "\r" + line.ljust(self._width))
        self._width = max(self._width, len(line))

    def _line(self, seconds: float) -> str:
        """`pip resolves: 0:07`; once something was read, `inspect: 0:07, 4.1 MB`, or `4.1 of 52.0 MB`."""
        minutes, rest = divmod(round(seconds), 60)
        of_all = f" of {self._expected / 1e6:.1f}" if self._expected > self._bytes else ""
        read = f", {self._bytes / 1e6:.1f}{of_all} MB" if self._bytes else ""
        return f"{self._waits}: {minutes}:{rest:02}{read}"


def start_progress(args: Arguments) -> Progress:
    return Progress(sys.stderr, console.width(sys.stderr), quiet=args.quiet or args.json)
