"""The one HTTP client: bounds on time and size, retries, redirects, credentials, and error messages."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from urllib.parse import urljoin

import httpcore
import httpx

from torchpick.errors import NetworkError
from torchpick.index import connection
from torchpick.index.connection import FAILURES, Login, Watch, WatchedBackend, words
from torchpick.index.failures import (
    HINT,
    PASSING,
    BrokenOffError,
    TooSlowError,
    gunzipped,
    refusal,
    retry_after,
)
from torchpick.model import VERSION
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Limits(Noun):
    """How long and how much, in seconds and bytes. A command that meets a bad server ends within a minute."""

    connect: float = 10.0
    headers: float = 20.0  # until an answer's headers are complete
    silence: float = 20.0  # without a byte of the body
    total: float = 45.0  # a request with its retries and redirects, a page's body included
    slowest: int = 4096  # bytes a second that a file must come at, after a grace
    grace: float = 20.0
    page: int = 16 << 20  # after inflating; the page of torch over all variants has 5 MB
    redirects: int = 10
    pauses: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)  # before each further attempt
    longest_pause: float = 30.0  # of those that a server asks for


class Origin(Noun):
    scheme: str
    host: str
    port: int | None


class Reply(Noun):
    """An answer whose body is still to be read; close it. `url` is where redirects led."""

    url: str
    status: int
    headers: httpx.Headers
    chunks: Iterator[bytes]
    close: Callable[[], None]


class Document(Noun):
    """An answer with its whole body, inflated."""

    url: str
    status: int
    headers: httpx.Headers
    body: bytes


class Client:
    """For one command and one thread; close it. `clock` and `sleep` are arguments so that tests need not wait."""

    def __init__(
        self,
        limits: Limits | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.limits = limits or Limits()
        self.sleep = sleep
        self.requests = 0
        self._environ = environ
        self._clock = clock
        self._watch = Watch(clock)
        self._pools: dict[str | None, httpcore.ConnectionPool] = {}
        self._logins: dict[Origin, Login] = {}
        self._netrc: Callable[[str], Login | None] | None = None
        self._slow: dict[Origin, str] = {}

    def __enter__(self) -> Client:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Document:
        """A page or another small file, of at most `limits.page` bytes after inflating."""
        until = self._clock() + self.limits.total
        name = redacted(url.partition("#")[0])
        attempt = 0
        while True:
            reply = self._open(url, {"accept-encoding": "gzip", **(headers or {})}, until, whole=True)
            try:
                body = self._inflated(name, reply) if reply.status == 200 else b""
                return Document(reply.url, reply.status, reply.headers, body)
            except BrokenOffError:
                if attempt >= len(self.limits.pauses) or not self._pause(self.limits.pauses[attempt], until):
                    raise
                attempt += 1
            finally:
                reply.close()

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """A file, whose body is read chunk by chunk as it was sent, at any length."""
        until = self._clock() + self.limits.total
        return self._open(url, {"accept-encoding": "identity", **(headers or {})}, until, whole=False)

    def _open(self, url: str, headers: Mapping[str, str], until: float, *, whole: bool) -> Reply:
        """The answer after retries and redirects; with `whole` its body must come by that moment too."""
        name = redacted(url.partition("#")[0])
        attempt = 0
        while True:
            last = attempt >= len(self.limits.pauses)
            pause = self.limits.pauses[min(attempt, len(self.limits.pauses) - 1)]
            try:
                reply = self._followed(url, name, headers, until, whole=whole)
            except BrokenOffError as error:
                unreachable = isinstance(error.__cause__, httpcore.ConnectError)  # a second attempt is enough
                if last or (unreachable and attempt) or not self._pause(pause, until):
                    raise
            else:
                if reply.status not in PASSING:
                    return reply
                reply.close()
                asked = retry_after(reply.headers.get("retry-after"), pause, self.limits.longest_pause)
                if last or not self._pause(asked, until):
                    raise refusal(name, reply.status)
            attempt += 1

    def _pause(self, seconds: float, until: float) -> bool:
        """Wait; False where the deadline would pass meanwhile."""
        if self._clock() + seconds >= until:
            return False
        self.sleep(seconds)
        return True

    def _followed(self, url: str, name: str, headers: Mapping[str, str], until: float, *, whole: bool) -> Reply:
        """One attempt, through redirects."""
        for _ in range(self.limits.redirects + 1):
            reply = self._asked(url, name, headers, until, whole=whole)
            place = reply.headers.get("location")
            if reply.status not in _REDIRECTS or place is None:
                return reply
            reply.close()
            onward = self._joined(url, place)
            if onward is None or not onward.startswith(("http:", "https:")):
                raise NetworkError(f"{name}: the server redirects to something that is not a web address", hint=HINT)
            if url.startswith("https:") and not onward.startswith("https:"):
                hint = "use the address it redirects to if you trust that connection"
                raise NetworkError(f"{name}: the server redirects from https to http", hint=hint)
            url = onward
        raise NetworkError(f"{name}: the server redirects in a circle", hint="check the address")

    def _joined(self, url: str, place: str) -> str | None:
        with suppress(ValueError, httpx.InvalidURL):
            return str(httpx.URL(urljoin(url, place)))
        return None

    def _asked(self, url: str, name: str, headers: Mapping[str, str], until: float, *, whole: bool) -> Reply:
        """One request and the headers of its answer."""
        address, origin = _address(url, name)
        if origin in self._slow:
            raise TooSlowError(self._slow[origin], hint=HINT)
        sent = {"user-agent": f"torchpick/{VERSION}", **headers}
        if (login := self._login(origin, address)) is not None:
            pair = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
            sent["authorization"] = f"Basic {pair}"
        request = httpx.Request("GET", address.copy_with(userinfo=b"", fragment=None), headers=sent)
        self.requests += 1
        self._watch.until(min(until, self._clock() + self.limits.headers), headers=True)
        timeouts = {"connect": self.limits.connect, "read": None, "write": None, "pool": self.limits.connect}
        raw = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        try:
            answer = self._pool(origin).handle_request(
                httpcore.Request("GET", raw, headers=request.headers.raw, extensions={"timeout": timeouts})
            )
        except FAILURES as error:
            raise self._failure(name, origin, error) from error
        chunks = self._body(name, origin, answer, until if whole else float("inf"))
        return Reply(url, answer.status, httpx.Headers(answer.headers), chunks, lambda: _close(answer))

    def _login(self, origin: Origin, address: httpx.URL) -> Login | None:
        """The URL's own credentials, those of an earlier URL of the same origin, then netrc's."""
        if (login := connection.login_of(address.userinfo.decode("ascii", "replace"))) is not None:
            self._logins[origin] = login
        if origin in self._logins:
            return self._logins[origin]
        if self._netrc is None:
            self._netrc = connection.netrc(self._environ)
        return self._netrc(origin.host)

    def _pool(self, origin: Origin) -> httpcore.ConnectionPool:
        proxy = connection.proxy(origin.scheme, origin.host if origin.port is None else f"{origin.host}:{origin.port}")
        if proxy not in self._pools:
            self._pools[proxy] = self._made(proxy)
        return self._pools[proxy]

    def _made(self, proxy: str | None) -> httpcore.ConnectionPool:
        context = connection.certificates(self._environ)
        backend = WatchedBackend(self._watch)
        if proxy is None:
            return httpcore.ConnectionPool(ssl_context=context, max_connections=4, network_backend=backend)
        hint = "check http_proxy, https_proxy and all_proxy"
        try:
            address = httpx.URL(proxy)
            login = connection.login_of(address.userinfo.decode("ascii", "replace"))
            plain = str(address.copy_with(userinfo=b""))
            pool = httpcore.SOCKSProxy if address.scheme.startswith("socks5") else httpcore.HTTPProxy
            return pool(
                plain, proxy_auth=login and (login.user, login.password), ssl_context=context, network_backend=backend
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise NetworkError(f"the address of the proxy {redacted(proxy)} is not valid", hint=hint) from error
        except (RuntimeError, ImportError) as error:
            hint = "`pip install socksio`, or use an HTTP proxy"
            raise NetworkError("a SOCKS proxy needs the package socksio", hint=hint) from error

    def _body(self, name: str, origin: Origin, answer: httpcore.Response, until: float) -> Iterator[bytes]:
        """The chunks as they come; the time between two of them counts only while they are waited for."""
        chunks = iter(answer.iter_stream())
        waited, size = 0.0, 0
        while True:
            began = self._clock()
            self._watch.until(min(until, began + self.limits.silence))
            try:
                chunk = next(chunks, None)
            except FAILURES as error:
                raise self._failure(name, origin, error) from error
            if chunk is None:
                return
            waited += self._clock() - began
            size += len(chunk)
            if waited > self.limits.grace and size < waited * self.limits.slowest:
                raise self._slowed(origin, f"{name}: the server is too slow")
            yield chunk

    def _inflated(self, name: str, reply: Reply) -> bytes:
        """The body, of which no more than the limit is ever in memory."""
        coding = reply.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "", "gzip", "x-gzip"):
            raise NetworkError(
                f"{name}: the server compresses with `{coding[:40]}`, which was not requested", hint=HINT
            )
        body = bytearray()
        for chunk in reply.chunks if "gzip" not in coding else gunzipped(name, reply.chunks):
            body += chunk
            if len(body) > self.limits.page:
                hint = "check that the address is an index of Python packages"
                raise NetworkError(f"{name}: the page is larger than {self.limits.page >> 20} MiB", hint=hint)
        return bytes(body)

    def _failure(self, name: str, origin: Origin, error: Exception) -> NetworkError:
        text = f"{name}: {words(error)}"
        if isinstance(error, httpcore.TimeoutException):
            return self._slowed(origin, text)
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            hint = "specify the certificates to trust: `export SSL_CERT_FILE=/path/to/ca.pem`"
            return NetworkError(text, hint=hint)
        transient = isinstance(error, httpcore.NetworkError | httpcore.RemoteProtocolError)
        return (BrokenOffError if transient else NetworkError)(text, hint=HINT)

    def _slowed(self, origin: Origin, text: str) -> TooSlowError:
        self._slow[origin] = text
        return TooSlowError(text, hint=HINT)


def _close(answer: httpcore.Response) -> None:
    with suppress(*FAILURES):
        answer.close()


def _address(url: str, name: str) -> tuple[httpx.URL, Origin]:
    try:
        address = httpx.URL(url)
        origin = Origin(address.scheme, address.host, address.port)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise NetworkError(f"{name} is not a valid web address", hint="check its spelling") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise NetworkError(f"{name} is not a valid web address", hint="only http and https are supported")
    return address, origin
