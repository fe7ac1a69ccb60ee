"""A web server on loopback that serves ranges of files in memory, and misbehaves on demand."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Seen(NamedTuple):
    """One request as it came."""

    path: str
    range: str | None
    if_range: str | None
    if_none_match: str | None
    authorization: str | None


class Host(ThreadingHTTPServer):
    """`files` are what it serves; `mood` is how: see `Handler.do_GET`. A mood may hold for so many requests only."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.seen: list[Seen] = []
        self.sent = 0
        self.mood = "kind"
        self.times = 1_000_000
        self.after = 0  # requests served kindly before the mood sets in

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def mood_now(self) -> str:
        place = len(self.seen) - self.after
        return self.mood if 0 < place <= self.times else "kind"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up early is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Host  # pyright: ignore[reportIncompatibleVariableOverride] # narrower, and only read

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # its name
        pass

    def do_HEAD(self) -> None:
        """Installers ask this of a wheel before they read it by ranges."""
        data = self.server.files.get(self.path)
        self.send_response(403 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def do_GET(self) -> None:  # noqa: C901, PLR0912  # a list of misdeeds
        host = self.server
        asked = {name: self.headers.get(name) for name in ("Range", "If-Range", "If-None-Match", "Authorization")}
        path = self.path.partition("?")[0]
        host.seen.append(Seen(path, *asked.values()))
        mood = host.mood_now()
        if mood.isdigit():
            self._answer(int(mood), b"no", {"Retry-After": "0"} if mood == "429" else {})
            return
        if mood == "hang up":
            self.close_connection = True
            return
        if path.startswith("/redirect/"):
            self._answer(302, b"", {"Location": path.removeprefix("/redirect")})
            return
        if path.startswith("/circle/"):
            self._answer(302, b"", {"Location": path})
            return
        data = host.files.get(path)
        if data is None:
            self._answer(403, b"denied", {})  # as S3 says of what it has not
            return
        tag = host.tags.get(path)
        if tag is not None and asked["If-None-Match"] == tag:
            self._answer(304, b"", {"ETag": tag})
            return
        extra = {"Content-Type": host.types.get(path, "application/octet-stream")}
        extra |= {"Accept-Ranges": "bytes", "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}
        if tag is not None:
            extra["ETag"] = tag
        span = self._span(asked["Range"], len(data))
        if span is None or mood in ("no ranges", "endless whole"):
            self._answer(200, data, extra, "endless" if mood == "endless whole" and asked["Range"] is None else "kind")
            return
        first, last = span
        if first >= len(data):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        if mood == "no suffix ranges" and (asked["Range"] or "").startswith("bytes=-"):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        if mood == "wrong range":
            first, last = first + 3, last + 3
        body, size = data[first : last + 1], len(data)
        if mood == "changed":
            size, extra["ETag"] = size + 1, '"other"'
        if mood == "changed, same size":
            extra["Last-Modified" if tag is None else "ETag"] = '"other"'
        if mood == "gzip":
            body, extra["Content-Encoding"] = gzip.compress(body), "gzip"
        extra["Content-Range"] = f"bytes {first}-{last}/{size}"
        if mood == "lying numbers":
            extra["Content-Range"] = "bytes 5-1/0"
        self._answer(206, body, extra, mood)

    def _span(self, text: str | None, size: int) -> tuple[int, int] | None:
        if text is None or not text.startswith("bytes="):
            return None
        first, _, last = text.removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size - 1
        return int(first), min(int(last), size - 1)

    def _answer(self, status: int, body: bytes, extra: dict[str, str], mood: str = "kind") -> None:
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        if mood == "endless":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(4096):
                self._write(b"10000\r\n" + bytes(65536) + b"\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if mood == "cut off":
            self._write(body[: len(body) // 2])
            self.close_connection = True
            return
        if mood == "slow":
            for start in range(0, len(body), 8):
                self._write(body[start : start + 8])
                time.sleep(0.001)
            return
        self._write(body)

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.server.sent += len(data)


@contextmanager
def serving() -> Iterator[Host]:
    """A host for the time of a test."""
    host = Host()
    thread = threading.Thread(target=host.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        host.shutdown()
        host.server_close()
        thread.join(5)
