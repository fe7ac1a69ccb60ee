"""Moving through bytes that are mapped, or that come as a stream and are gone when passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from mmap import mmap
from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BufferCursor:
    """A cursor over a part of bytes that are all there: a memory map costs only the pages it touches."""

    __slots__ = ("_buffer", "_without", "end", "position")

    def __init__(self, buffer: bytes | mmap, start: int = 0, end: int | None = None) -> None:
        self._buffer = buffer
        self.end = len(buffer) if end is None else min(end, len(buffer))
        self.position = min(start, self.end)
        self._without: dict[bytes, int] = {}  # the place before which the pattern does not occur

    def peek(self, count: int) -> bytes:
        """The next bytes, without moving; fewer at the end."""
        return self._buffer[self.position : min(self.position + count, self.end)]

    def unpack(self, layout: Struct, ahead: int = 0) -> tuple[Any, ...] | None:
        """The fields that lie so many bytes ahead, without moving; None where they would not end before the end."""
        place = self.position + ahead
        return layout.unpack_from(self._buffer, place) if place + layout.size <= self.end else None

    def skip(self, count: int) -> None:
        """Move forward, at most to the end."""
        self.position = min(self.position + count, self.end)

    def find(self, *patterns: bytes) -> bytes | None:
        """Move to the nearest occurrence of a pattern and say which; None, and at the end, where there is none."""
        best, which = self.end, None
        for pattern in patterns:
            # Each byte is searched once for a pattern, and only up to the nearest of the others: what lies behind that
            # is most often passed with it.
            start = max(self.position, self._without.get(pattern, 0))
            place = self._buffer.find(pattern, start, min(best + len(pattern) - 1, self.end))
            if place >= 0:
                best, which = place, pattern
            self._without[pattern] = max(start, best)
            if best == self.position:
                break
        self.position = best
        return which


class StreamCursor:
    """A cursor over chunks as they arrive; what is passed is forgotten."""

    __slots__ = ("_at", "_base", "_buffer", "_chunks", "_over", "end")

    def __init__(self, chunks: Iterable[bytes], end: int) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._buffer = b""
        self._base = 0  # the offset of the buffer's first byte
        self._at = 0  # the place inside the buffer
        self._over = False
        self.end = end

    @property
    def position(self) -> int:
        return self._base + self._at

    def _more(self) -> bool:
        """Take one more chunk, dropping what is passed; False at the end."""
        if self._over:
            return False
        chunk = next(self._chunks, None)
        if chunk is None:
            self._over = True
            return False
        self._buffer = self._buffer[self._at :] + chunk
        self._base += self._at
        self._at = 0
        return True

    def peek(self, count: int) -> bytes:
        while len(self._buffer) - self._at < count and self._more():
            pass
        return self._buffer[self._at : self._at + count]

    def unpack(self, layout: Struct, ahead: int = 0) -> tuple[Any, ...] | None:
        count = ahead + layout.size
        while len(self._buffer) - self._at < count and self._more():
            pass
        return layout.unpack_from(self._buffer, self._at + ahead) if len(self._buffer) - self._at >= count else None

    def skip(self, count: int) -> None:
        left = count
        while (here := len(self._buffer) - self._at) < left:
            left -= here
            self._at = len(self._buffer)
            if not self._more():
                return
        self._at += left

    def find(self, *patterns: bytes) -> bytes | None:
        longest = max(map(len, patterns))
        while True:
            best, which = len(self._buffer), None
            for pattern in patterns:
                place = self._buffer.find(pattern, self._at, best + len(pattern))
                if 0 <= place < best:
                    best, which = place, pattern
            # A longer pattern may begin before this one and end in the next chunk.
            if which is not None and (best + longest <= len(self._buffer) or not self._more()):
                self._at = best
                return which
            if which is not None:
                continue
            self._at = max(self._at, len(self._buffer) - longest + 1)
            if not self._more():
                self._at = len(self._buffer)
                return None


# A place in some bytes, moving forward only.
Cursor = BufferCursor | StreamCursor
