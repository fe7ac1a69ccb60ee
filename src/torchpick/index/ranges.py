"""A file read by ranges, wherever it is: few requests, nothing kept, and an error where it changes meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from torchpick.errors import IntegrityError, NetworkError, RangesUnsupportedError, WheelError, silent
from torchpick.index.failures import HINT, BrokenOffError, refusal
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report
    from torchpick.index.client import Client, Reply

CHUNK = 1 << 18
# What is read from the end of a file before anything else: of a wheel, the last part of its directory.
TAIL = 112 << 10


class Source(Protocol):
    """A file read by ranges."""

    size: int
    bytes_read: int
    requests: int  # 0 for a file of this computer

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        ...

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        """These bytes in chunks; what is not taken is not fetched."""
        ...

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """A hint: these ranges will be streamed in this order; those closer than `gap` may come together."""

    def close(self) -> None: ...


class FileSource:
    """A file of this computer."""

    requests = 0

    def __init__(self, path: Path, report: Report = silent) -> None:
        self.path = path
        self.name = str(path)
        self.bytes_read = 0
        self._report = report
        try:
            self._file = path.open("rb", buffering=0)
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise WheelError(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions") from (
                error
            )

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        left = length
        try:
            self._file.seek(offset)
            while left > 0:
                chunk = self._file.read(min(CHUNK, left))
                if not chunk:
                    raise IntegrityError(
                        f"{self.name} ends {left} bytes early", hint="the file is cut off: download it again"
                    )
                left -= len(chunk)
                offset += len(chunk)
                self.bytes_read += len(chunk)
                self._report(len(chunk))
                yield chunk
                self._file.seek(offset)  # another reader may have moved it
        except OSError as error:
            raise WheelError(f"cannot read {self.name}: {error.strerror}", hint="check the disk it is on") from error

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """Nothing is gained by it on a disk."""

    def close(self) -> None:
        self._file.close()


# Asked for beyond what is wanted: a member of an archive is a little longer than its directory tells. And what is
# left of an answer is taken rather than the connection given up, where it is no more than this.
_BEYOND, _REST = 1 << 10, 1 << 16


class Range(Noun):
    """An answer whose body is being read, up to this place in the file."""

    reply: Reply
    end: int


class Span(Noun):
    """What an answer says it holds: `bytes 5-9/100`."""

    first: int
    last: int
    size: int


class RemoteSource:
    """One URL read by ranges."""

    def __init__(self, url: str, client: Client, report: Report = silent) -> None:
        self.name = redacted(url.partition("#")[0])
        self.bytes_read = self.requests = 0
        self._url, self._client, self._report = url, client, report
        self._tag: str | None = None  # of this version of the file
        self._modified: str | None = None
        self._open: Range | None = None
        self._position = 0  # in the open answer
        self._spare = b""  # bytes of the open answer that came and were not taken
        self._runs: list[tuple[int, int]] = []
        self._tail = b""
        self.size = self._measure()

    # The size comes with the first bytes that are wanted anyway: the last ones.
    def _measure(self) -> int:
        reply = self._get(f"bytes=-{TAIL}")
        if reply.status in (416, 501) or (reply.status == 206 and _span(reply) is None):
            reply.close()
            reply = self._get("bytes=0-0")  # a server that knows no suffix ranges, or an empty file
        if reply.status == 200:
            return self._whole(reply)
        span = _span(reply)
        if reply.status != 206 or span is None:
            reply.close()
            raise refusal(self.name, reply.status)
        first, last, size = span
        self._tag, self._modified = reply.headers.get("etag"), reply.headers.get("last-modified")
        answer = Range(reply, last + 1)
        if first == size - TAIL or (first == 0 and last + 1 == size):
            self._keep_tail(answer, first, size)
        else:
            reply.close()
        return size

    def _whole(self, reply: Reply) -> int:
        """A server that sends the whole file: fine where that is no more than what was asked for."""
        length = reply.headers.get("content-length", "")
        if reply.headers.get("content-encoding", "identity") == "identity" and length.isdigit():
            size = int(length)
            if size <= TAIL:
                self._keep_tail(Range(reply, size), 0, size)
                return size
        reply.close()
        raise RangesUnsupportedError(
            f"the server of {self.name} does not support ranges",
            hint="add `--allow-full` to download it, or download it yourself and inspect the file",
        )

    def _keep_tail(self, answer: Range, first: int, size: int) -> None:
        self._open, self._position, self._spare = answer, first, b""
        try:
            self._tail = b"".join(self._take(size - first))
        except BrokenOffError:
            self._tail = b""  # read again when it is wanted, with the patience of every other read
        self._drop()

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        if offset < 0 or offset + length > self.size:
            raise IntegrityError(f"{self.name} has no bytes at {offset}", hint="the file is damaged")
        tail_at = self.size - len(self._tail)
        if offset >= tail_at:
            yield self._tail[offset - tail_at : offset - tail_at + length]
            return
        known = self._tail[: max(0, offset + length - tail_at)]
        length -= len(known)
        done = attempt = 0
        while done < length:
            before = done
            try:
                self._reach(offset + done, length - done)
                for chunk in self._take(length - done):
                    done += len(chunk)
                    yield chunk
            except BrokenOffError:
                self._drop()
                attempt = 0 if done > before else attempt
                pauses = self._client.limits.pauses
                if attempt >= len(pauses):
                    raise
                self._client.sleep(pauses[attempt])
                attempt += 1
        if known:
            yield known

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        runs: list[tuple[int, int]] = []
        for start, end in ranges:
            if runs and start <= runs[-1][1] + gap:
                runs[-1] = (runs[-1][0], max(runs[-1][1], end))
            else:
                runs.append((start, end))
        self._runs = runs

    def close(self) -> None:
        self._drop()

    def _reach(self, offset: int, length: int) -> None:
        """Have an answer open that stands at this place."""
        if self._open is not None and self._position <= offset < self._open.end:
            gap = offset - self._position
            if gap <= 2 << 20:
                for _ in self._take(gap):
                    pass
                return
        self._drop()
        end = offset + length + _BEYOND
        for start, stop in self._runs:
            if start <= offset < stop:
                end = max(end, stop + _BEYOND)
        end = min(end, self.size)
        reply = self._get(f"bytes={offset}-{end - 1}")
        span = _span(reply)
        if reply.status == 206 and span is not None and span[2] == self.size and self._same(reply):
            if span[:2] == (offset, end - 1):
                self._open, self._position, self._spare = Range(reply, end), offset, b""
                return
            reply.close()
            raise RangesUnsupportedError(
                f"{self.name}: asked for bytes {offset}-{end - 1}, the server sent {span[0]}-{span[1]}",
                hint="its ranges cannot be trusted: download the file and inspect that",
            )
        reply.close()
        if reply.status in (200, 206, 412, 416):
            raise IntegrityError(f"{self.name} changed while it was read", hint="run the command again")
        raise refusal(self.name, reply.status)

    def _same(self, reply: Reply) -> bool:
        """Whether this is still the version that was read before."""
        if self._tag is not None and "etag" in reply.headers:
            return bool(reply.headers["etag"] == self._tag)
        return self._modified is None or reply.headers.get("last-modified", self._modified) == self._modified

    def _take(self, length: int) -> Iterator[bytes]:
        """The next bytes of the open answer; raises BrokenOffError where it ends before."""
        left = length
        while left > 0:
            if not self._spare:
                chunk = b"" if self._open is None else next(self._open.reply.chunks, b"")
                if not chunk:
                    raise BrokenOffError(f"{self.name}: the connection was lost", hint=HINT)
                self.bytes_read += len(chunk)
                self._report(len(chunk))
                self._spare = chunk
            data, self._spare = self._spare[:left], self._spare[left:]
            left -= len(data)
            self._position += len(data)
            yield data

    def _drop(self) -> None:
        if self._open is None:
            return
        answer, left = self._open, self._open.end - self._position - len(self._spare)
        self._open, self._spare = None, b""
        if left <= _REST:
            try:
                for chunk in answer.reply.chunks:
                    self.bytes_read += len(chunk)
                    left -= len(chunk)
                    if left < 0:
                        break
            except NetworkError:
                left = 0
        answer.reply.close()  # what was not taken is not fetched
        if left < 0:
            raise IntegrityError(f"{self.name}: the server sent more than was asked for", hint=HINT)

    def _get(self, span: str) -> Reply:
        """One request for a range."""
        headers = {"range": span}
        if self._tag is not None and not self._tag.startswith("W/"):
            headers["if-range"] = self._tag
        before = self._client.requests
        try:
            reply = self._client.open(self._url, headers)
        finally:
            self.requests += self._client.requests - before
        if reply.headers.get("content-encoding", "identity") != "identity":
            reply.close()
            raise RangesUnsupportedError(
                f"the server of {self.name} compresses what it sends",
                hint="its ranges cannot be used: download the file and inspect that",
            )
        return reply


def _span(reply: Reply) -> Span | None:
    unit, _, rest = reply.headers.get("content-range", "").partition(" ")
    span, _, size = rest.partition("/")
    first, _, last = span.partition("-")
    if unit != "bytes" or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (first, last, size)):
        return None
    found = Span(int(first), int(last), int(size))
    return found if found.first <= found.last < found.size else None
