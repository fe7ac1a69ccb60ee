"""Connections that keep to a deadline, whatever the server does with single bytes, headers or interim answers."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

# Bytes that may come before an answer's headers are complete; `100 Continue` may be sent any number of times.
_MOST_BEFORE = 512 << 10


class Watch:
    """The deadline of the request that is under way; every read and write is cut to what is left of it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._until = float("inf")
        self._budget: int | None = None

    def until(self, moment: float, *, headers: bool = False) -> None:
        self._until = moment
        self._budget = _MOST_BEFORE if headers else None

    def left(self, timeout: float | None) -> float:
        """The seconds that this step may take; raises where there are none."""
        left = self._until - self.clock()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline has passed")
        return left if timeout is None else min(left, timeout)

    def count(self, size: int) -> None:
        if self._budget is not None:
            self._budget -= size
            if self._budget < 0:
                raise httpcore.RemoteProtocolError("its headers do not end")


class WatchedStream(httpcore.NetworkStream):
    """A connection under a watch."""

    def __init__(self, inner: httpcore.NetworkStream, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._watch.left(timeout))
        self._watch.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._watch.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._watch.left(timeout))
        return WatchedStream(inner, self._watch)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 # as httpcore has it
        return self._inner.get_extra_info(info)


class WatchedBackend(httpcore.NetworkBackend):
    """Connects to the first address of a host that answers; all of them together have one deadline."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        began = self._watch.clock()
        try:
            addresses = list(
                dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            )
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} is not a known host name") from error
        failure: Exception = httpcore.ConnectError("it has no address")
        for place, address in enumerate(addresses):
            left = self._watch.left(None if timeout is None else timeout - (self._watch.clock() - began))
            share = left / (len(addresses) - place) if place + 1 < len(addresses) else left
            try:
                inner = self._inner.connect_tcp(address, port, max(share, 0.01), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return WatchedStream(inner, self._watch)
        raise failure

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 # as httpcore has it
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        raise httpcore.UnsupportedProtocol(path)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
