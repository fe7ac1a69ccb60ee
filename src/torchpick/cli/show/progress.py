"""One line on a terminal that says how far something is, how fast it goes and how long it will take.

Only where a person watches: never in a pipe, never with --quiet. It is erased before anything else is printed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from torchpick.cli.show.text import plain

# Often enough to look alive, seldom enough to cost nothing.
_EVERY_S = 0.1
# A wait without news: the seconds go on.
_TICK_S = 0.5
# Before that a rate is chance.
_SURE_AFTER_S = 1.0
_LONGEST_NAME = 44


class Progress:
    """Bytes that have come, and how many things of how many are done."""

    def __init__(
        self, stream: TextIO, name: str, *, quiet: bool, total: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._clock = stream, clock
        self._live = stream.isatty() and not quiet
        self._name = plain(name)[:_LONGEST_NAME]
        self._total, self._done, self._bytes = total, 0, 0
        self._began = clock()
        self._drawn_at = self._began
        self._width = 0
        self._lock = threading.Lock()  # several readers may report at once

    def add(self, count: int) -> None:
        """So many more bytes have come."""
        with self._lock:
            self._bytes += count
            self._draw()

    def step(self, done: int, total: int) -> None:
        """So many things of so many are done."""
        with self._lock:
            self._done, self._total = done, total
            self._draw()

    def rename(self, name: str) -> None:
        """What is being read now."""
        self._name = plain(name)[:_LONGEST_NAME]

    def say(self, sentence: str) -> None:
        """A sentence on a line of its own, which stays."""
        with self._lock:
            self._erase()
            self._stream.write(plain(sentence) + "\n")
            self._stream.flush()

    def clear(self) -> None:
        """Leave a clean line, also after Ctrl-C."""
        with self._lock:
            self._erase()

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """While something is waited for that brings no news, such as a resolution: the seconds are seen to pass."""
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(over,), daemon=True)
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

    def _erase(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _draw(self) -> None:
        now = self._clock()
        if not self._live or now - self._drawn_at < _EVERY_S:
            return
        self._drawn_at = now
        line = self.text(now - self._began)
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = max(self._width, len(line))

    def text(self, seconds: float) -> str:
        """`refresh: 3 of 12, 41 MB, 5.2 MB/s, 1:20 left`; where nothing is counted, `pip resolves: 0:07`."""
        parts = []
        if self._total > 1:
            parts.append(f"{self._done} of {self._total}")
        if self._bytes:
            parts.append(f"{self._bytes / 1e6:.0f} MB" if self._bytes >= 10**7 else f"{self._bytes / 1e6:.1f} MB")
        if self._bytes and seconds >= _SURE_AFTER_S:
            parts.append(f"{self._bytes / 1e6 / seconds:.1f} MB/s")
        if 0 < self._done < self._total and seconds >= _SURE_AFTER_S:
            parts.append(f"{_clock_time(seconds / self._done * (self._total - self._done))} left")
        return f"{self._name}: {', '.join(parts or [_clock_time(seconds)])}"


def _clock_time(seconds: float) -> str:
    """`0:07`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
