"""Many requests side by side, each thread with a client of its own, and one bound on what all of them may cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple, TypeVar

from torchpick.errors import TorchpickError
from torchpick.index.ranges import RemoteSource
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from torchpick.errors import Report
    from torchpick.index.client import Client, Document

T = TypeVar("T")
U = TypeVar("U")

_AT_ONCE = 16
LIMIT_CODE = "READING_LIMIT"


class ReadingLimits(NamedTuple):
    """What one question may cost in all, and how old a page may be that is not asked for again.

    The bytes are those that come over the wire; times are in seconds.
    """

    projects: int = 600
    bytes: int = 200_000_000
    seconds: float = 120.0
    age: float = 3600.0


def limit_error(text: str) -> TorchpickError:
    return TorchpickError(text, hint="name fewer packages, or their versions", code=LIMIT_CODE)


def result(work: Callable[[T], U], item: T) -> U | TorchpickError:
    """What comes of it; an error is a value."""
    try:
        return work(item)
    except TorchpickError as error:
        return error


class Web:
    """For one run; close it. Time counts while somebody waits in `running`."""

    def __init__(self, environ: Mapping[str, str], limits: ReadingLimits, report: Report) -> None:
        self.limits = limits
        self._environ, self._report = environ, report
        self._lock, self._local = threading.Lock(), threading.local()
        self._clients: list[Client] = []
        self._news: list[str] = []
        self._bytes, self._seconds, self._began = 0, 0.0, time.monotonic()
        self._is_over = False

    def close(self) -> None:
        self._is_over = True
        if "_pool" in self.__dict__:
            self._pool.shutdown(cancel_futures=True)
        for client in self._clients:
            client.close()

    @contextmanager
    def running(self, news: str) -> Iterator[None]:
        """Work on what somebody waits for, who hears what it is where it takes the network."""
        self._began, self._news = time.monotonic(), [news]
        try:
            yield
        finally:
            self._seconds += time.monotonic() - self._began

    def side_by_side(self, work: Callable[[T], U], items: Iterable[T]) -> dict[T, U | TorchpickError]:
        """What comes of each; an error is a value."""
        todo = list(dict.fromkeys(items))
        return dict(zip(todo, self._pool.map(lambda item: result(work, item), todo) if todo else (), strict=True))

    def get(self, url: str, headers: Mapping[str, str]) -> Document:
        """A page, which may be absent, or the same as it was where the headers ask for that."""
        client = self._client()
        before = client.bytes_read
        try:
            return client.get(url, headers, absent=True)
        finally:
            self._spend(client.bytes_read - before)

    def source(self, url: str, whole: int) -> RemoteSource:
        """A file to be read by ranges, or whole from a server without them where it is no larger."""
        return RemoteSource(url, self._client(), self._spend_or_raise, whole)

    @contextmanager
    def stream(self, url: str) -> Iterator[Iterator[bytes]]:
        """A file from its beginning; what is not taken is not fetched."""
        reply = self._client().open(url)
        try:
            if reply.status != 200:
                raise reply.refusal(redacted(url))
            yield map(self._counted, reply.chunks)
        finally:
            reply.close()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # what is kept is read without it

        return ThreadPoolExecutor(_AT_ONCE)

    def _client(self) -> Client:
        """The one of this thread, which waits no longer than there is time."""
        from torchpick.index.client import Client, Limits

        left = self._left()
        client: Client | None = getattr(self._local, "client", None)
        with self._lock:
            for news in self._news:
                self._report(news)
            self._news = []
            if client is None:
                client = self._local.client = Client(environ=self._environ)
                self._clients.append(client)
        most = Limits()
        client.limits = most._replace(
            connect=min(most.connect, left), silence=min(most.silence, left), total=min(most.total, left)
        )
        return client

    def _left(self) -> float:
        """Seconds; raises where there are none, or no bytes."""
        if self._is_over:
            raise limit_error("the run is over")
        if self._bytes > self.limits.bytes:
            raise limit_error(f"no more than {self.limits.bytes / 1_000_000:g} MB are read for one question")
        left = self.limits.seconds - self._seconds - (time.monotonic() - self._began)
        if left <= 0:
            raise limit_error(f"no more than {self.limits.seconds:g} seconds are spent on one question")
        return left

    def _spend(self, count: int) -> None:
        with self._lock:
            self._bytes += count

    def _spend_or_raise(self, news: str | int) -> None:
        """Called with bytes as they come; a `Report`, whose sentences cost nothing."""
        if isinstance(news, int):
            self._spend(news)
        self._left()

    def _counted(self, chunk: bytes) -> bytes:
        self._spend_or_raise(len(chunk))
        return chunk
