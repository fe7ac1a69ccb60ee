"""The one HTTP client: httpx, with retries, bounds on size, credentials, and messages that say what to do."""

from __future__ import annotations

import base64
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import NamedTuple

import httpx

from torchpick.errors import BrokenOffError, NetworkError
from torchpick.index.transport import HINT, Transport, name_of, origin_of
from torchpick.model import VERSION

# Statuses that often pass by themselves.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# S3 answers 403 for what is not there, so it says no more than 404 does.
_ABSENT = frozenset({403, 404, 410})
_CHUNK = 1 << 18
# A devpi server (Jetson AI Lab's) has pages below an index's own address for installers alone, which it knows by this.
USER_AGENT = f"pip/24 torchpick/{VERSION}"


class Limits(NamedTuple):
    """How long and how much, in seconds and bytes. A command that meets a bad server ends within a minute."""

    connect: float = 10.0
    silence: float = 20.0  # until an answer's headers are complete, and without a byte of its body
    total: float = 45.0  # a request with its retries and redirects, a page's body included
    slowest: int = 4096  # bytes a second that a file must come at, after a grace
    grace: float = 20.0
    page: int = 16 << 20  # after inflating; the page of torch over all variants has 5 MB
    redirects: int = 10
    pauses: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)  # before each further attempt


class Reply(NamedTuple):
    """An answer. `url` is where redirects led. One that is open has its body still to be read, as it was sent."""

    url: str
    status: int
    headers: httpx.Headers
    chunks: Iterator[bytes]
    close: Callable[[], None]
    body: bytes = b""  # inflated, where it was read

    def refusal(self, name: str) -> NetworkError:
        """Its status as an error with the next thing to do."""
        if self.status in (401, 407):
            hint = "put the credentials in netrc or the URL"
        elif self.status in _ABSENT:
            hint = "check the address: the wheel host answers 403 for files it does not have"
        elif self.status == 429:
            hint = "the server limits requests: wait a while"
        else:
            hint = HINT
        return NetworkError(f"{name}: the server answered {self.status}", hint=hint)


class Client:
    """For one command and its threads; close it. `sleep` is an argument so that tests need not wait.

    `check` is called before each request and with each chunk that comes; an error of it ends the reading.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        sleep: Callable[[float], None] = time.sleep,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self.limits = limits or Limits()
        self.sleep = sleep
        self._transport = Transport(environ, check)
        self._netrc = _netrc(environ)
        self._logins: dict[str, tuple[str, str]] = {}
        self._http = httpx.Client(
            transport=self._transport,
            headers={"user-agent": USER_AGENT},
            follow_redirects=True,
            max_redirects=self.limits.redirects,
            event_hooks={"request": [self._log_in]},
        )

    def __enter__(self) -> Client:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    @property
    def requests(self) -> int:
        """How many were sent, redirects and retries among them."""
        return self._transport.requests

    @property
    def bytes_read(self) -> int:
        return self._transport.bytes_read

    def get(self, url: str, headers: Mapping[str, str] | None = None, *, absent: bool = False) -> Reply:
        """A page or another small file, of at most `limits.page` bytes; with `absent` it may be missing.

        Where `if-none-match` is among the headers it may be unchanged, of status 304.
        """
        accepted = {200, *(_ABSENT if absent else ()), *((304,) if "if-none-match" in (headers or {}) else ())}
        return self._retried(url, {"accept-encoding": "gzip", **(headers or {})}, accepted)

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """A file, whose body is read chunk by chunk as it was sent, at any length."""
        return self._retried(url, {"accept-encoding": "identity", **(headers or {})})

    def _retried(self, url: str, headers: Mapping[str, str], accepted: Collection[int] | None = None) -> Reply:
        """The answer, which is asked for again where the trouble may pass; one of the accepted is read whole."""
        until = time.monotonic() + self.limits.total
        pauses = iter(self.limits.pauses)
        while True:
            pause = next(pauses, None)
            failure: NetworkError
            try:
                reply = self._send(url, headers, until, whole=accepted is not None)
                if reply.status not in _PASSING:
                    return reply if accepted is None else self._read(name_of(url), reply, accepted)
                reply.close()
                failure = reply.refusal(name_of(url))
            except BrokenOffError as error:
                failure = error
            if pause is None or time.monotonic() + pause >= until:
                raise failure
            self.sleep(pause)

    def _read(self, name: str, reply: Reply, accepted: Collection[int]) -> Reply:
        try:
            if reply.status not in accepted:
                raise reply.refusal(name)
            return reply._replace(body=self._inflated(name, reply)) if reply.status == 200 else reply
        finally:
            reply.close()

    def _send(self, url: str, headers: Mapping[str, str], until: float, *, whole: bool) -> Reply:
        """One attempt, through redirects. `until` bounds the headers of the answer, with `whole` its body too."""
        name = name_of(url)
        extensions = {"url": url, "limits": self.limits, "until": until, "whole": whole}
        try:
            request = self._http.build_request("GET", _checked(url, name), headers=headers, extensions=extensions)
            response = self._http.send(request, stream=True)
        except httpx.TooManyRedirects as error:
            raise NetworkError(f"{name}: the server redirects in a circle", hint="check the address") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            text = f"{name}: the server redirects to something that is not a web address"
            raise NetworkError(text, hint=HINT) from error
        if response.history:
            user, password = self._logins.get(origin_of(response.url), (None, None))
            url = str(response.url.copy_with(username=user, password=password) if user or password else response.url)
        return Reply(url, response.status_code, response.headers, response.iter_raw(), response.close)

    def _log_in(self, request: httpx.Request) -> None:
        """Before each request: the URL's own credentials, those of an earlier URL of the same origin, then netrc's."""
        origin, url = origin_of(request.url), request.url
        if url.userinfo:
            self._logins[origin] = url.username, url.password
            request.url = url.copy_with(userinfo=b"")  # httpx writes it into its log
        login = self._logins.get(origin)
        if login is None and self._netrc is not None and (entry := self._netrc.authenticators(url.host)):
            user, _, password = entry
            login = user or "", password or ""
        if login is not None:
            request.headers["authorization"] = f"Basic {base64.b64encode(':'.join(login).encode()).decode()}"

    def _inflated(self, name: str, reply: Reply) -> bytes:
        """The body. httpx's own decoders would take one that is cut off, and know no bound on memory."""
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


def gunzipped(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes inflated, in pieces of bounded size."""
    inflater = zlib.decompressobj(31)
    try:
        for chunk in chunks:
            data = chunk
            while data and not inflater.eof:  # it would keep all that follows the end
                yield inflater.decompress(data, _CHUNK)
                data = inflater.unconsumed_tail
    except zlib.error as error:
        raise NetworkError(f"{name}: what the server sent is not gzip", hint=HINT) from error
    if not inflater.eof:
        raise BrokenOffError(f"{name}: the server stopped in the middle", hint=HINT)


def _netrc(environ: Mapping[str, str]) -> netrc | None:
    """The user's netrc, as pip reads it; one that cannot be parsed is ignored."""
    with suppress(OSError, RuntimeError, ValueError, NetrcParseError):
        return netrc(environ.get("NETRC") or str(Path.home() / ".netrc"))
    return None


def _checked(url: str, name: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise NetworkError(f"{name} is not a valid web address", hint="check its spelling") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise NetworkError(f"{name} is not a valid web address", hint="only http and https are supported")
    return address
