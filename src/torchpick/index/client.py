"""The one HTTP client: bounds on time and size, retries, redirects, credentials, and error messages."""

from __future__ import annotations

import base64
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from netrc import netrc
from typing import TypeVar
from urllib.parse import urljoin

import httpcore
import httpx

from torchpick.errors import BrokenOffError, NetworkError
from torchpick.index import connection
from torchpick.model import VERSION
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

T = TypeVar("T")

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Statuses that often pass by themselves.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# S3 answers 403 for what is not there, so it says no more than 404 does.
_ABSENT = frozenset({403, 404, 410})
_HINT = "check the connection and try again"
_CHUNK = 1 << 18
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


class TooSlowError(NetworkError):
    """A deadline has passed; the server is not asked again."""


class Limits(Noun):
    """How long and how much, in seconds and bytes. A command that meets a bad server ends within a minute."""

    connect: float = 10.0
    silence: float = 20.0  # until an answer's headers are complete, and without a byte of its body
    total: float = 45.0  # a request with its retries and redirects, a page's body included
    slowest: int = 4096  # bytes a second that a file must come at, after a grace
    grace: float = 20.0
    page: int = 16 << 20  # after inflating; the page of torch over all variants has 5 MB
    redirects: int = 10
    pauses: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)  # before each further attempt


class Wanted(Noun):
    """A request: its address as it may be shown, what is sent, and until when it is done, with `whole` body too."""

    name: str
    headers: Mapping[str, str]
    until: float
    whole: bool


class Reply(Noun):
    """An answer whose body is still to be read; close it. `url` is where redirects led."""

    url: str
    status: int
    headers: httpx.Headers
    chunks: Iterator[bytes]
    close: Callable[[], None]

    def refusal(self, name: str) -> NetworkError:
        """Its status as an error with the next thing to do."""
        if self.status in (401, 407):
            hint = "put the credentials in netrc or the URL"
        elif self.status in _ABSENT:
            hint = "check the address: the wheel host answers 403 for files it does not have"
        elif self.status == 429:
            hint = "the server limits requests: wait a while"
        else:
            hint = _HINT
        return NetworkError(f"{name}: the server answered {self.status}", hint=hint)


class Document(Noun):
    """An answer with its whole body, inflated."""

    url: str
    status: int
    headers: httpx.Headers
    body: bytes


class Client:
    """For one command and one thread; close it. `sleep` is an argument so that tests need not wait."""

    def __init__(
        self,
        limits: Limits | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.limits = limits or Limits()
        self.sleep = sleep
        self.requests = self.bytes_read = 0
        self._environ = environ
        self._watch = connection.Watch()
        self._pools: dict[str | None, httpcore.ConnectionPool] = {}
        self._logins: dict[str, tuple[str, str]] = {}
        self._slow: dict[str, str] = {}

    def __enter__(self) -> Client:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def get(self, url: str, headers: Mapping[str, str] | None = None, *, absent: bool = False) -> Document:
        """A page or another small file, of at most `limits.page` bytes; with `absent` it may be missing.

        Where `if-none-match` is among the headers it may be unchanged, a Document of status 304.
        """
        name = redacted(url.partition("#")[0])

        def read(reply: Reply) -> Document:
            try:
                unchanged = reply.status == 304 and "if-none-match" in (headers or {})
                if reply.status != 200 and not unchanged and not (absent and reply.status in _ABSENT):
                    raise reply.refusal(name)
                body = self._inflated(name, reply) if reply.status == 200 else b""
                return Document(reply.url, reply.status, reply.headers, body)
            finally:
                reply.close()

        return self._tried(url, {"accept-encoding": "gzip", **(headers or {})}, read, whole=True)

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """A file, whose body is read chunk by chunk as it was sent, at any length."""
        return self._tried(url, {"accept-encoding": "identity", **(headers or {})}, lambda reply: reply, whole=False)

    def _tried(self, url: str, headers: Mapping[str, str], take: Callable[[Reply], T], *, whole: bool) -> T:
        """What is made of the answer, which is asked for again where the trouble may pass."""
        until = time.monotonic() + self.limits.total
        wanted = Wanted(redacted(url.partition("#")[0]), headers, until, whole)
        pauses = iter(self.limits.pauses)
        while True:
            pause = next(pauses, None)
            failure: NetworkError
            try:
                reply = self._followed(url, wanted)
                if reply.status not in _PASSING:
                    return take(reply)
                reply.close()
                failure = reply.refusal(wanted.name)
            except BrokenOffError as error:
                failure = error
            if pause is None or time.monotonic() + pause >= until:
                raise failure
            self.sleep(pause)

    def _followed(self, url: str, wanted: Wanted) -> Reply:
        """One attempt, through redirects."""
        for _ in range(self.limits.redirects + 1):
            reply = self._asked(url, wanted)
            place = reply.headers.get("location")
            if reply.status not in _REDIRECTS or place is None:
                return reply
            reply.close()
            onward = ""
            with suppress(ValueError, httpx.InvalidURL):
                onward = str(httpx.URL(urljoin(url, place)))
            if not onward.startswith(("http:", "https:")):
                text = f"{wanted.name}: the server redirects to something that is not a web address"
                raise NetworkError(text, hint=_HINT)
            if url.startswith("https:") and not onward.startswith("https:"):
                hint = "use the address it redirects to if you trust that connection"
                raise NetworkError(f"{wanted.name}: the server redirects from https to http", hint=hint)
            url = onward
        raise NetworkError(f"{wanted.name}: the server redirects in a circle", hint="check the address")

    def _asked(self, url: str, wanted: Wanted) -> Reply:
        """One request and the headers of its answer."""
        address = _address(url, wanted.name)
        host = address.netloc.decode("ascii")
        origin = f"{address.scheme}://{host}"
        if origin in self._slow:
            raise TooSlowError(self._slow[origin], hint=_HINT)
        sent = {"host": host, "user-agent": f"torchpick/{VERSION}", **wanted.headers}
        if (login := self._login(origin, address)) is not None:
            sent["authorization"] = f"Basic {base64.b64encode(':'.join(login).encode()).decode()}"
        self.requests += 1
        self._watch.until(min(wanted.until, time.monotonic() + self.limits.silence))
        timeouts = {"connect": self.limits.connect, "read": None, "write": None, "pool": self.limits.connect}
        raw = httpcore.URL(scheme=address.raw_scheme, host=address.raw_host, port=address.port, target=address.raw_path)
        request = httpcore.Request("GET", raw, headers=[*sent.items()], extensions={"timeout": timeouts})
        try:
            answer = self._pool(address).handle_request(request)
        except _FAILURES as error:
            raise self._failure(wanted.name, origin, error) from error
        chunks = self._body(origin, wanted, answer)
        return Reply(url, answer.status, httpx.Headers(answer.headers), chunks, lambda: _close(answer))

    def _login(self, origin: str, address: httpx.URL) -> tuple[str, str] | None:
        """The URL's own credentials, those of an earlier URL of the same origin, then netrc's."""
        if address.userinfo:
            self._logins[origin] = address.username, address.password
        if origin in self._logins:
            return self._logins[origin]
        entry = self._netrc and self._netrc.authenticators(address.host)
        return (entry[0] or "", entry[2] or "") if entry else None

    @cached_property
    def _netrc(self) -> netrc | None:
        return connection.netrc_of(self._environ)

    def _pool(self, address: httpx.URL) -> httpcore.ConnectionPool:
        proxy = connection.proxy(address.scheme, address.netloc.decode("ascii"))
        if proxy not in self._pools:
            context, backend = connection.certificates(self._environ), connection.WatchedBackend(self._watch)
            self._pools[proxy] = connection.pool(proxy, context, backend)
        return self._pools[proxy]

    def _body(self, origin: str, wanted: Wanted, answer: httpcore.Response) -> Iterator[bytes]:
        """The chunks as they come; the time between two of them counts only while they are waited for."""
        chunks = iter(answer.iter_stream())
        waited, size = 0.0, 0
        while True:
            began = time.monotonic()
            self._watch.until(min(wanted.until if wanted.whole else float("inf"), began + self.limits.silence))
            try:
                chunk = next(chunks, None)
            except _FAILURES as error:
                raise self._failure(wanted.name, origin, error) from error
            if chunk is None:
                return
            waited += time.monotonic() - began
            size += len(chunk)
            self.bytes_read += len(chunk)
            if waited > self.limits.grace and size < waited * self.limits.slowest:
                raise self._slowed(origin, f"{wanted.name}: the server is too slow")
            yield chunk

    def _inflated(self, name: str, reply: Reply) -> bytes:
        """The body, of which no more than the limit is ever in memory."""
        coding = reply.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "", "gzip", "x-gzip"):
            raise NetworkError(
                f"{name}: the server compresses with `{coding[:40]}`, which was not requested", hint=_HINT
            )
        body = bytearray()
        for chunk in reply.chunks if "gzip" not in coding else gunzipped(name, reply.chunks):
            body += chunk
            if len(body) > self.limits.page:
                hint = "check that the address is an index of Python packages"
                raise NetworkError(f"{name}: the page is larger than {self.limits.page >> 20} MiB", hint=hint)
        return bytes(body)

    def _failure(self, name: str, origin: str, error: Exception) -> NetworkError:
        text = redacted(str(error))
        if isinstance(error, httpcore.TimeoutException):
            return self._slowed(origin, f"{name}: the server did not answer in time")
        if "CERTIFICATE_VERIFY_FAILED" in text:
            hint = "specify the certificates to trust: `export SSL_CERT_FILE=/path/to/ca.pem`"
            return NetworkError(f"{name}: cannot reach the server ({text})", hint=hint)
        if isinstance(error, httpcore.ConnectError):
            return NetworkError(f"{name}: cannot reach the server ({text})", hint=_HINT)
        transient = isinstance(error, httpcore.NetworkError | httpcore.RemoteProtocolError)
        kind = BrokenOffError if transient else NetworkError
        return kind(f"{name}: {text or 'the connection was lost'}", hint=_HINT)

    def _slowed(self, origin: str, text: str) -> TooSlowError:
        self._slow[origin] = text
        return TooSlowError(text, hint=_HINT)


def _close(answer: httpcore.Response) -> None:
    with suppress(*_FAILURES):
        answer.close()


def _address(url: str, name: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise NetworkError(f"{name} is not a valid web address", hint="check its spelling") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise NetworkError(f"{name} is not a valid web address", hint="only http and https are supported")
    return address


def gunzipped(name: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes inflated, in pieces of bounded size."""
    inflater = zlib.decompressobj(31)
    try:
        for chunk in chunks:
            data = chunk
            while data and not inflater.eof:  # it would keep all that follows the end
                yield inflater.decompress(data, _CHUNK)
                data = inflater.unconsumed_tail
    except zlib.error as error:
        raise NetworkError(f"{name}: what the server sent is not gzip", hint=_HINT) from error
    if not inflater.eof:
        raise BrokenOffError(f"{name}: the server stopped in the middle", hint=_HINT)
