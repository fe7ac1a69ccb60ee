"""How this computer reaches a server: certificates, credentials, proxies, and connections that keep to a deadline."""

from __future__ import annotations

import os
import ssl
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import Any
from urllib.request import getproxies, proxy_bypass

import certifi
import httpcore
import httpx

from torchpick.environment import toolsettings
from torchpick.errors import NetworkError, TorchpickError
from torchpick.model.redaction import redacted

# pip: PIP_CERT or `cert`, then requests' own two. uv: SSL_CERT_FILE.
_FILES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def netrc_of(environ: Mapping[str, str]) -> netrc | None:
    """The user's netrc, as pip reads it; one that cannot be parsed is ignored."""
    with suppress(OSError, RuntimeError, ValueError, NetrcParseError):
        return netrc(environ.get("NETRC") or str(Path.home() / ".netrc"))
    return None


def certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates to trust: what the user's settings name, else the system's certificates and certifi's."""
    named = {environ[name]: name for name in reversed(_FILES) if environ.get(name)}
    if not environ.get("PIP_CERT") and (cert := _pip_cert(environ)):
        named[cert] = "pip's `cert`"
    return _context(tuple(named.items()))


@lru_cache(4)  # to read them takes longer than many a wheel, and one command has several clients
def _context(named: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    if not named:
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for place, name in named:
        try:
            context.load_verify_locations(**{"capath" if os.path.isdir(place) else "cafile": place})
        except (OSError, ssl.SSLError) as error:
            hint = f"set it to a file of certificates in PEM format, or unset {name}"
            raise NetworkError(f"{name}: cannot read the certificates in {place}: {error}", hint=hint) from error
    return context


def _pip_cert(environ: Mapping[str, str]) -> str | None:
    with suppress(TorchpickError, RuntimeError):  # a broken pip.conf is for pip to report
        setting = toolsettings.pip(environ, sys.prefix, str(Path.home())).get("cert")
        return None if setting is None else os.path.expanduser(" ".join(setting.words))
    return None


def proxy(scheme: str, host: str) -> str | None:
    """The proxy for a host from the environment or the system's settings."""
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None
    return address if "://" in address else f"http://{address}"


def pool(proxy: str | None, context: ssl.SSLContext, backend: httpcore.NetworkBackend) -> httpcore.ConnectionPool:
    """Connections to servers, or to a proxy."""
    if proxy is None:
        return httpcore.ConnectionPool(ssl_context=context, max_connections=4, network_backend=backend)
    try:
        address = httpx.URL(proxy)
        if address.scheme not in ("http", "https", "socks5", "socks5h"):
            raise ValueError(address.scheme)  # noqa: TRY301 # as what cannot be parsed
        kind = httpcore.SOCKSProxy if address.scheme.startswith("socks5") else httpcore.HTTPProxy
        login = (address.username, address.password) if address.userinfo else None
        plain = str(address.copy_with(userinfo=b""))
        return kind(plain, proxy_auth=login, ssl_context=context, network_backend=backend)
    except (httpx.InvalidURL, ValueError, RuntimeError) as error:
        hint = "check http_proxy, https_proxy and all_proxy; a SOCKS proxy needs `pip install socksio`"
        raise NetworkError(f"the proxy {redacted(proxy)} cannot be used", hint=hint) from error


class Watch:
    """The deadline of the request that is under way; every read and write is cut to what is left of it."""

    def __init__(self) -> None:
        self._until = float("inf")

    def until(self, moment: float) -> None:
        self._until = moment

    def left(self, timeout: float | None) -> float:
        """The seconds that this step may take; raises where there are none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline has passed")
        return left if timeout is None else min(left, timeout)


class WatchedStream(httpcore.NetworkStream):
    """A connection under a watch."""

    def __init__(self, inner: httpcore.NetworkStream, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._watch.left(timeout))

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


class WatchedBackend(httpcore.SyncBackend):
    """Connects as httpcore does, under a watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        inner = super().connect_tcp(host, port, self._watch.left(timeout), local_address, socket_options)
        return WatchedStream(inner, self._watch)
