"""Many things read by one function, several at once; a list of them comes from a file or a page of wheels."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from pathlib import Path

from torchpick.environment.world import opened
from torchpick.errors import NetworkError, TorchpickError, UsageError
from torchpick.model.fields import MOST_ITEMS
from torchpick.model.redaction import redacted
from torchpick.wheels import thing
from torchpick.wheels.readings import Reading
from torchpick.wheels.thing import ReadOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

# All wheels of an index come from one host: so many readers at most ask it at the same time.
MOST_JOBS = 16
_MOST_FILE = 16 << 20

Answers = Generator[tuple[str, Reading | TorchpickError], None, None]


def listed(source: str, how: ReadOptions) -> list[str]:
    """The things of a file, a line each; or of a page or a folder, one wheel of each version for the platform."""
    if "://" in source or Path(source).is_dir():
        return _of_page(source if "://" in source else Path(source).absolute().as_uri(), how)
    found = [line.partition(" #")[0].strip() for line in _text(source).splitlines()]
    found = [word for word in dict.fromkeys(found) if word and not word.startswith("#")]
    if not found:
        raise UsageError(f"{source} names nothing to inspect", hint="write a THING a line")
    if len(found) > MOST_ITEMS:
        raise UsageError(f"{len(found)} things are more than {MOST_ITEMS}", hint="inspect them in parts")
    return found


def _text(source: str) -> str:
    try:
        if source == "-":
            return sys.stdin.read(_MOST_FILE)
        with opened(source, pipes=True) as stream:
            return stream.read(_MOST_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror}", hint="check the path") from error


def _of_page(url: str, how: ReadOptions) -> list[str]:
    if how.offline and not url.startswith("file:"):
        raise UsageError(f"{redacted(url)} is on the web", hint="remove `--offline`, or name a folder")
    from torchpick.index import pages, user_index
    from torchpick.index.client import Client
    from torchpick.wheels import packaged

    with Client() as client:
        links = pages.fetch(url, client)
    platform = user_index.target_of(how.wanted).platform.name
    wheels = packaged.of_versions(links or (), platform)
    if not wheels:
        raise NetworkError(f"{redacted(url)} lists no wheel for {platform}", hint="`--platform` asks for others")
    return [wheel.link.with_hash for wheel in wheels]


def read(things: Iterable[str], how: ReadOptions, jobs: int, *, in_order: bool) -> Answers:
    """The things with their readings, in their order or as they come; one that fails is its error."""
    with closing(_Readers(how, jobs)) as readers:
        waiting = iter(things)
        running: dict[Future[Reading | TorchpickError], str] = {}
        while True:
            for name in islice(waiting, jobs * 2 - len(running)):
                running[readers.pool.submit(readers.read, name)] = name
            if not running:
                return
            first = next(iter(running))
            for job in [first] if in_order else wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(job), job.result()


class _Readers:
    """Threads that read things, each with its own HTTP client."""

    def __init__(self, how: ReadOptions, jobs: int) -> None:
        self.pool = ThreadPoolExecutor(jobs)
        self._how = how._replace(report=self._report, client=self._client)
        self._report_on = how.report
        self._over, self._local = threading.Event(), threading.local()
        self._clients: list[Client] = []

    def read(self, name: str) -> Reading | TorchpickError:
        try:
            return thing.read(name, self._how)
        except TorchpickError as error:
            return error

    def close(self) -> None:
        """What is being read is given up."""
        self._over.set()
        self.pool.shutdown(cancel_futures=True)
        for client in self._clients:
            client.close()

    def _report(self, news: str | int) -> None:
        if self._over.is_set():
            raise TorchpickError("it was given up", hint="run the command again")
        self._report_on(news)

    def _client(self) -> Client:
        """The one of this thread: its certificates take longer to load than many a wheel to read."""
        from torchpick.index.client import Client

        if (mine := getattr(self._local, "client", None)) is None:
            mine = self._local.client = Client()
            self._clients.append(mine)
        return mine
