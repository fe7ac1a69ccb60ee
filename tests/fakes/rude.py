"""A web server that means no good: it answers without end, without haste, or with far more than it seems."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
Manner = Callable[[socket.socket], None]


@contextmanager
def rude(manner: Manner) -> Iterator[str]:
    """A server that behaves like this on every connection; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(65536)
            manner(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/simple/x/"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def trickle(before: bytes) -> Manner:
    def manner(connection: socket.socket) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(b"a")
            time.sleep(0.2)

    return manner


def forever(before: bytes, piece: bytes) -> Manner:
    def manner(connection: socket.socket) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(piece)

    return manner


def silent(connection: socket.socket) -> None:
    time.sleep(30)
    connection.close()


def once(answer: bytes) -> Manner:
    return lambda connection: connection.sendall(answer)


def packed(body: bytes, times: int) -> bytes:
    for _ in range(times):
        body = gzip.compress(body)
    coding = ", ".join(["gzip"] * times)
    return HEAD + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
