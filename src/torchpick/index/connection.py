"""How this computer reaches a server: certificates, credentials, proxies, and connections that keep to a deadline."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpcore

from torchpick.errors import NetworkError, TorchpickError
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

# pip: PIP_CERT or `cert`, then requests' own two. uv: SSL_CERT_FILE and SSL_CERT_DIR.
_FILES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Login(Noun):
    user: str
    password: str


def login_of(userinfo: str) -> Login | None:
    """The credentials that stand before the host of a URL."""
    user, _, password = userinfo.partition(":")
    return Login(unquote(user), unquote(password)) if userinfo else None


def netrc(environ: Mapping[str, str]) -> Callable[[str], Login | None]:
    """Credentials by host from the user's netrc, as pip reads it; one that cannot be parsed is ignored."""
    from netrc import NetrcParseError
    from netrc import netrc as parsed

    named = environ.get("NETRC")
    found = None
    with suppress(OSError, RuntimeError, ValueError, NetrcParseError):
        paths = [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
        path = next((path for path in paths if path.is_file()), None)
        found = None if path is None else parsed(str(path))

    def login(host: str) -> Login | None:
        entry = None if found is None else found.authenticators(host)
        return None if entry is None else Login(entry[0] or "", entry[2] or "")

    return login


def certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates to trust: what the user's settings name, else the system's certificates and certifi's."""
    cert = None if environ.get("PIP_CERT") else _pip_cert(environ)
    return _context(tuple(environ.get(name, "") for name in (*_FILES, "SSL_CERT_DIR")), cert)


@lru_cache(4)  # to read them takes longer than many a wheel, and one command has several clients
def _context(values: tuple[str, ...], cert: str | None) -> ssl.SSLContext:
    environ = dict(zip((*_FILES, "SSL_CERT_DIR"), values, strict=True))
    named: dict[str, str] = {}  # often several name the same file, which takes a while to read
    for name in _FILES:
        if environ.get(name):
            named.setdefault(environ[name], name)
    if cert:
        named.setdefault(cert, "pip's `cert`")
    folders = [folder for folder in environ.get("SSL_CERT_DIR", "").split(os.pathsep) if os.path.isdir(folder)]
    if not named and not folders:
        import certifi

        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for place, name in named.items():
        try:
            context.load_verify_locations(**{"capath" if os.path.isdir(place) else "cafile": place})
        except (OSError, ssl.SSLError) as error:
            hint = f"set it to a file of certificates in PEM format, or unset {name}"
            raise NetworkError(f"{name}: cannot read the certificates in {place}: {error}", hint=hint) from error
    for folder in folders:
        context.load_verify_locations(capath=folder)
    return context


def _pip_cert(environ: Mapping[str, str]) -> str | None:
    import sys

    from torchpick.environment import toolsettings

    with suppress(TorchpickError, RuntimeError):  # a broken pip.conf is for pip to report
        setting = toolsettings.pip(environ, sys.prefix, str(Path.home())).get("cert")
        return None if setting is None else os.path.expanduser(" ".join(setting.words))
    return None


def proxy(scheme: str, host: str) -> str | None:
    """The proxy for a host from the environment or the system's settings."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None
    return address if "://" in address else f"http://{address}"


# Bytes that may come before an answer's headers are complete; `100 Continue` may be sent any number of times.
_MOST_BEFORE = 512 << 10


# What httpcore raises, and what a broken answer makes of the sockets below it.
FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
    OSError,
)


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


def words(error: Exception) -> str:
    """An error of a library in plain words."""
    if isinstance(error, httpcore.ConnectTimeout):
        return "the server did not answer in time"
    if isinstance(error, httpcore.TimeoutException):
        return "the server did not send its answer in time"
    if isinstance(error, httpcore.ConnectError):
        return f"cannot reach the server ({redacted(str(error))})"
    return redacted(str(error)) or "the connection was lost"
