"""How this computer reaches a server: connections under deadlines, proxies, and the certificates to trust."""

from __future__ import annotations

import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.request import getproxies, proxy_bypass

import certifi
import httpcore
import httpx

from torchpick.environment import toolsettings
from torchpick.errors import BrokenOffError, NetworkError, TorchpickError
from torchpick.model.address import redacted

HINT = "check the connection and try again"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What httpcore raises, and what a broken answer makes of the sockets below it.
_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
    OSError,
)
# pip: PIP_CERT or `cert`, then requests' own two. uv: SSL_CERT_FILE.
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class TooSlowError(NetworkError):
    """A deadline has passed; the server is not asked again."""


class Transport(httpx.BaseTransport):
    """Connections to servers and proxies under deadlines.

    A request's extensions say which URL was asked for first, the limits, until when it is done, and whether with its
    body. A server that was too slow is not asked again. `check` is called before each request and with each chunk.
    """

    def __init__(self, environ: Mapping[str, str], check: Callable[[], object]) -> None:
        self.requests = self.bytes_read = 0
        self._environ, self._check, self._lock = environ, check, threading.Lock()
        self._deadline = Deadline()
        self._pools: dict[str | None, httpcore.ConnectionPool] = {}
        self._slow: dict[str, str] = {}

    def close(self) -> None:
        for pool_ in self._pools.values():
            pool_.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        first, limits, until = (request.extensions[key] for key in ("url", "limits", "until"))
        url, name = request.url, name_of(first)
        if url.scheme not in ("http", "https"):
            text = f"{name}: the server redirects to something that is not a web address"
            raise NetworkError(text, hint=HINT)
        if first.startswith("https:") and url.scheme != "https":
            hint = "use the address it redirects to if you trust that connection"
            raise NetworkError(f"{name}: the server redirects from https to http", hint=hint)
        if (why := self._slow.get(origin_of(url))) is not None:
            raise TooSlowError(why, hint=HINT)
        self._count(0, requests=1)
        self._deadline.until = min(until, time.monotonic() + limits.silence)
        timeouts = {"connect": limits.connect, "read": None, "write": None, "pool": limits.connect}
        raw = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore.Request(request.method, raw, headers=request.headers.raw, extensions={"timeout": timeouts})
        try:
            answer = self._pool(url).handle_request(sent)
        except _FAILURES as error:
            raise self._failure(request, error) from error
        headers = [(key, value) for key, value in answer.headers if key.lower() != b"set-cookie"]  # none is kept
        chunks = iter(()) if answer.status in _REDIRECTS else self._chunks(request, answer)
        return httpx.Response(answer.status, headers=headers, stream=_Body(answer, chunks))

    def _count(self, size: int, requests: int = 0) -> None:
        with self._lock:
            self.bytes_read += size
            self.requests += requests
        self._check()

    def _pool(self, url: httpx.URL) -> httpcore.ConnectionPool:
        proxy = proxy_of(url.scheme, url.netloc.decode("ascii"))
        with self._lock:
            if proxy not in self._pools:
                self._pools[proxy] = pool(proxy, certificates(self._environ), DeadlineBackend(self._deadline))
            return self._pools[proxy]

    def _chunks(self, request: httpx.Request, answer: httpcore.Response) -> Iterator[bytes]:
        """The body as it comes; the time between two chunks counts only while they are waited for."""
        limits = request.extensions["limits"]
        until = request.extensions["until"] if request.extensions["whole"] else float("inf")
        chunks = iter(answer.iter_stream())
        waited, size = 0.0, 0
        while True:
            began = time.monotonic()
            self._deadline.until = min(until, began + limits.silence)
            try:
                chunk = next(chunks, None)
            except _FAILURES as error:
                raise self._failure(request, error) from error
            if chunk is None:
                return
            waited += time.monotonic() - began
            size += len(chunk)
            self._count(len(chunk))
            if waited > limits.grace and size < waited * limits.slowest:
                raise self._too_slow(request, "the server is too slow")
            yield chunk

    def _failure(self, request: httpx.Request, error: Exception) -> NetworkError:
        name, text = name_of(request.extensions["url"]), redacted(str(error))
        if isinstance(error, httpcore.TimeoutException):
            return self._too_slow(request, "the server did not answer in time")
        if "CERTIFICATE_VERIFY_FAILED" in text:
            hint = "specify the certificates to trust: `export SSL_CERT_FILE=/path/to/ca.pem`"
            return NetworkError(f"{name}: cannot reach the server ({text})", hint=hint)
        if isinstance(error, httpcore.ConnectError):
            return NetworkError(f"{name}: cannot reach the server ({text})", hint=HINT)
        transient = isinstance(error, httpcore.NetworkError | httpcore.RemoteProtocolError)
        kind = BrokenOffError if transient else NetworkError
        return kind(f"{name}: {text or 'the connection was lost'}", hint=HINT)

    def _too_slow(self, request: httpx.Request, why: str) -> TooSlowError:
        text = self._slow[origin_of(request.url)] = f"{name_of(request.extensions['url'])}: {why}"
        return TooSlowError(text, hint=HINT)


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response, chunks: Iterator[bytes]) -> None:
        self._answer, self._chunks = answer, chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        with suppress(*_FAILURES):
            self._answer.close()


class Deadline(threading.local):
    """Of the request that this thread waits for; every read and write is cut to what is left of it."""

    until = float("inf")

    def left(self, timeout: float | None) -> float:
        """The seconds that this step may take; raises where there are none."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline has passed")
        return left if timeout is None else min(left, timeout)


class DeadlineStream(httpcore.NetworkStream):
    """A connection each of whose steps ends by the deadline."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._deadline.left(timeout))
        return DeadlineStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 # as httpcore has it
        return self._inner.get_extra_info(info)


class DeadlineBackend(httpcore.SyncBackend):
    """Connects as httpcore does, by the deadline, of which each address of a host has its share."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            sockets = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(error) from error
        seconds = min(self._deadline.left(timeout), self._deadline.left(None) / len(sockets))  # for each of them
        inner = super().connect_tcp(host, port, seconds, local_address, socket_options)
        return DeadlineStream(inner, self._deadline)


def pool(proxy: str | None, context: ssl.SSLContext, backend: httpcore.NetworkBackend) -> httpcore.ConnectionPool:
    """Connections to servers, or to a proxy; httpx's own transport takes no backend."""
    if proxy is None:
        return httpcore.ConnectionPool(ssl_context=context, max_connections=None, network_backend=backend)
    try:
        url = httpx.URL(proxy)
        if url.scheme not in ("http", "https", "socks5", "socks5h"):
            raise ValueError(url.scheme)  # noqa: TRY301 # as what cannot be parsed
        kind = httpcore.SOCKSProxy if url.scheme.startswith("socks5") else httpcore.HTTPProxy
        login = (url.username, url.password) if url.userinfo else None
        plain = str(url.copy_with(userinfo=b""))
        return kind(plain, login, ssl_context=context, max_connections=None, network_backend=backend)
    except (httpx.InvalidURL, ValueError, RuntimeError) as error:
        hint = "check http_proxy, https_proxy and all_proxy; a SOCKS proxy needs `pip install socksio`"
        raise NetworkError(f"the proxy {redacted(proxy)} cannot be used", hint=hint) from error


def proxy_of(scheme: str, host: str) -> str | None:
    """The proxy for a host from the environment or the system's settings."""
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None
    return address if "://" in address else f"http://{address}"


def certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates to trust: what the user's settings name, else the system's certificates and certifi's."""
    settings = {environ[name]: name for name in reversed(_CERTIFICATES) if environ.get(name)}
    if not environ.get("PIP_CERT"):
        with suppress(TorchpickError, RuntimeError):  # a broken pip.conf is for pip to report
            cert = toolsettings.read_pip_settings(environ, sys.prefix, str(Path.home())).get("cert")
            if cert is not None and cert.words:
                settings[os.path.expanduser(" ".join(cert.words))] = "pip's `cert`"
    return _context(tuple(settings.items()))


@lru_cache(4)  # to read them takes longer than many a wheel, and one command has several clients
def _context(settings: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    if not settings:
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for path, name in settings:
        try:
            context.load_verify_locations(**{"capath" if os.path.isdir(path) else "cafile": path})
        except (OSError, ssl.SSLError) as error:
            hint = f"set it to a file of certificates in PEM format, or unset {name}"
            raise NetworkError(f"{name}: cannot read the certificates in {path}: {error}", hint=hint) from error
    return context


def name_of(url: str) -> str:
    """A URL as it may be shown."""
    return redacted(url).partition("#")[0]


def origin_of(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
