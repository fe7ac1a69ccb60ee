"""A file on the web, read by ranges: few requests, nothing kept, and an error where the file changes meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx

from torchpick.errors import IntegrityError, NetworkError, RangesUnsupportedError, TorchpickError
from torchpick.wheels import web
from torchpick.wheels.source import TAIL, Tell

# Attempts at one range, and the pause before each further one. A server's own Retry-After is obeyed up to a limit.
PAUSES = (0.5, 1.0, 2.0, 4.0)
# A server that trickles is given up when, after a grace, it has sent less than this (bytes a second).
SLOWEST = 4096
GRACE = 45.0
# Asked for beyond what is wanted: a member of an archive is a little longer than its directory tells. And what is
# left of an answer is taken rather than the connection given up, where it is no more than this.
_BEYOND, _REST = 1 << 10, 1 << 16


class _Answer(NamedTuple):
    """A response whose body is being read."""

    response: httpx.Response
    chunks: Iterator[bytes]
    end: int


class RemoteSource:
    """One URL read by ranges; `sleep` and `clock` are arguments so that tests need not wait."""

    def __init__(
        self,
        url: str,
        client: httpx.Client,
        tell: Tell | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = web.redacted(url)
        self.bytes_read = self.requests = 0
        self._url, self._client, self._tell = url, client, tell
        self._sleep, self._clock = sleep, clock
        self._tag: str | None = None  # of this version of the file
        self._modified: str | None = None
        self._open: _Answer | None = None
        self._position = 0  # in the open answer
        self._spare = b""  # bytes of the open answer that came and were not taken
        self._runs: list[tuple[int, int]] = []
        self._tail = b""
        self.size = self._measure()

    # The size comes with the first bytes that are wanted anyway: the last ones.
    def _measure(self) -> int:
        response = self._get(f"bytes=-{TAIL}")
        if response.status_code in (416, 501) or (response.status_code == 206 and _span(response) is None):
            response.close()
            response = self._get("bytes=0-0")  # a server that knows no suffix ranges, or an empty file
        if response.status_code == 200:
            return self._whole(response)
        span = _span(response)
        if response.status_code != 206 or span is None:
            response.close()
            raise self._refusal(response)
        first, last, size = span
        self._tag, self._modified = response.headers.get("etag"), response.headers.get("last-modified")
        answer = _Answer(response, response.iter_raw(), last + 1)
        if first == size - TAIL or (first == 0 and last + 1 == size):
            self._keep_tail(answer, first, size)
        else:
            response.close()
        return size

    def _whole(self, response: httpx.Response) -> int:
        """A server that sends the whole file: fine where that is no more than what was asked for."""
        length = response.headers.get("content-length", "")
        if response.headers.get("content-encoding", "identity") == "identity" and length.isdigit():
            size = int(length)
            if size <= TAIL:
                self._keep_tail(_Answer(response, response.iter_raw(), size), 0, size)
                return size
        response.close()
        raise RangesUnsupportedError(
            f"the server of {self.name} sends whole files only",
            hint="add `--allow-full` to download it, or download it yourself and inspect the file",
        )

    def _keep_tail(self, answer: _Answer, first: int, size: int) -> None:
        self._open, self._position, self._spare = answer, first, b""
        try:
            self._tail = b"".join(self._take(size - first))
        except (httpx.TransportError, _CutOffError):
            self._tail = b""  # read again when it is wanted, with the patience of every other read
        self._drop()

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        if offset < 0 or offset + length > self.size:
            raise IntegrityError(f"{self.name} has no bytes at {offset}", hint="the file is not what it says it is")
        tail_at = self.size - len(self._tail)
        if offset >= tail_at:
            yield self._tail[offset - tail_at : offset - tail_at + length]
            return
        done = attempt = 0
        while done < length:
            before = done
            try:
                self._reach(offset + done, length - done)
                for chunk in self._take(length - done):
                    done += len(chunk)
                    yield chunk
            except (httpx.TransportError, _CutOffError) as error:
                self._drop()
                attempt = 0 if done > before else attempt
                if attempt >= len(PAUSES):
                    raise NetworkError(f"{self.name}: {web.words(error)}", hint=web.HINT) from error
                self._sleep(PAUSES[attempt])
                attempt += 1

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
        response = self._get(f"bytes={offset}-{end - 1}")
        span = _span(response)
        if response.status_code == 206 and span is not None and span[2] == self.size and self._same(response):
            if span[:2] == (offset, end - 1):
                self._open, self._position, self._spare = _Answer(response, response.iter_raw(), end), offset, b""
                return
            response.close()
            raise RangesUnsupportedError(
                f"{self.name}: asked for bytes {offset}-{end - 1}, the server sent {span[0]}-{span[1]}",
                hint="its ranges cannot be trusted: download the file and inspect that",
            )
        response.close()
        if response.status_code in (200, 206, 412, 416):
            raise IntegrityError(f"{self.name} changed while it was read", hint="run the command again")
        raise self._refusal(response)

    def _same(self, response: httpx.Response) -> bool:
        """Whether this is still the version that was read before."""
        if self._tag is not None and "etag" in response.headers:
            return bool(response.headers["etag"] == self._tag)
        return self._modified is None or response.headers.get("last-modified", self._modified) == self._modified

    def _take(self, length: int) -> Iterator[bytes]:
        """The next bytes of the open answer; raises _CutOffError where it ends before."""
        left = length
        began = self._clock()
        come = 0
        while left > 0:
            if self._open is None:
                raise _CutOffError
            if not self._spare:
                chunk = next(self._open.chunks, b"")
                if not chunk:
                    raise _CutOffError
                self.bytes_read += len(chunk)
                come += len(chunk)
                if self._tell is not None:
                    self._tell(len(chunk))
                passed = self._clock() - began
                if passed > GRACE and come < passed * SLOWEST:
                    raise NetworkError(f"{self.name}: the server sends next to nothing", hint=web.HINT)
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
                for chunk in answer.chunks:
                    self.bytes_read += len(chunk)
                    left -= len(chunk)
                    if left < 0:
                        break
            except httpx.TransportError:
                left = 0
        answer.response.close()  # what was not taken is not fetched
        if left < 0:
            raise IntegrityError(f"{self.name}: the server sent more than was asked for", hint=web.HINT)

    def _get(self, span: str) -> httpx.Response:
        """One request for a range, tried again where the trouble may pass."""
        headers = {"range": span, "accept-encoding": "identity"}
        if self._tag is not None and not self._tag.startswith("W/"):
            headers["if-range"] = self._tag
        for attempt in range(len(PAUSES) + 1):
            self.requests += 1
            pause = PAUSES[min(attempt, len(PAUSES) - 1)]
            try:
                response = self._client.send(self._client.build_request("GET", self._url, headers=headers), stream=True)
            except httpx.HTTPError as error:
                failure: TorchpickError = web.failure(self.name, error)
                if not isinstance(error, httpx.TransportError) or isinstance(error, httpx.UnsupportedProtocol):
                    raise failure from error
            except (httpx.InvalidURL, ValueError) as error:
                raise web.failure(self.name, error) from error
            else:
                if response.status_code not in web.PASSING:
                    if response.headers.get("content-encoding", "identity") != "identity":
                        response.close()
                        raise RangesUnsupportedError(
                            f"the server of {self.name} compresses what it sends",
                            hint="its ranges cannot be used: download the file and inspect that",
                        )
                    return response
                response.close()
                failure = self._refusal(response)
                pause = web.retry_after(response.headers.get("retry-after"), pause)
            if attempt < len(PAUSES):
                self._sleep(pause)
        raise failure

    def _refusal(self, response: httpx.Response) -> NetworkError:
        return web.refusal(self.name, response.status_code)


class _CutOffError(Exception):
    """The answer ended before its end."""


def _span(response: httpx.Response) -> tuple[int, int, int] | None:
    """`bytes 5-9/100` → (5, 9, 100)."""
    unit, _, rest = response.headers.get("content-range", "").partition(" ")
    span, _, size = rest.partition("/")
    first, _, last = span.partition("-")
    if unit != "bytes" or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (first, last, size)):
        return None
    numbers = int(first), int(last), int(size)
    return numbers if numbers[0] <= numbers[1] < numbers[2] else None
