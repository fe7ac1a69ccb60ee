"""What the user's own indexes have of projects, and what their files require: read side by side, each once, bounded.

What comes back depends on the indexes alone, never on the order of replies, but for what a bound cuts off.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from torchpick.errors import InstallerError, NetworkError, TorchpickError, UsageError, WheelError, silent
from torchpick.index import pages
from torchpick.index.filemetadata import read_metadata
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import ProjectFile, named
from torchpick.index.projectfiles import IndexTarget, KeptPage, ProjectCache, best_wheels
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import redacted
from torchpick.model.metadata import Metadata
from torchpick.model.versions import grouped, normal, some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from torchpick.errors import Report
    from torchpick.index.client import Client

T = TypeVar("T")
U = TypeVar("U")

LIMIT_CODE = "READING_LIMIT"
_AT_ONCE = 16


class ReadingLimits(NamedTuple):
    """What one question may cost in all, and how old a page may be that is not asked for again.

    The bytes are those that come over the wire; times are in seconds.
    """

    projects: int = 600
    bytes: float = 200_000_000
    seconds: float = 120.0
    age: float = 3600.0


# For what somebody asks to be read however long it takes.
NO_LIMITS = ReadingLimits(bytes=float("inf"), seconds=float("inf"))


class Web:
    """Work side by side over one client, both made when they are first needed, and one bound on what all of it costs.

    Time counts while somebody waits in `running`.
    """

    def __init__(self, environ: Mapping[str, str], limits: ReadingLimits, report: Report = silent) -> None:
        self.limits = limits
        self._environ, self._report = environ, report
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._news = ""
        self._until, self._seconds = time.monotonic() + limits.seconds, limits.seconds
        self._is_over = False

    def close(self) -> None:
        self._is_over = True
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._client is not None:
            self._client.close()

    @contextmanager
    def running(self, news: str) -> Iterator[None]:
        """Work on what somebody waits for, who hears what it is where it takes the network."""
        self._until, self._news = time.monotonic() + self._seconds, news
        try:
            yield
        finally:
            self._seconds, self._news = self._until - time.monotonic(), ""

    def side_by_side(self, work: Callable[[T], U], items: Iterable[T]) -> dict[T, U | TorchpickError]:
        """What comes of each."""
        todo = list(dict.fromkeys(items))
        if not todo:
            return {}
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_AT_ONCE)
        return dict(zip(todo, self._pool.map(lambda item: _result(work, item), todo), strict=True))

    @property
    def client(self) -> Client:
        """Which waits no longer than there is time."""
        from torchpick.index.client import Client, Limits

        left, most = self._check(), Limits()
        with self._lock:
            if self._news:
                self._report(self._news)
            self._news = ""
            client = self._client = self._client or Client(environ=self._environ, check=self._check)
        client.limits = most._replace(
            connect=min(most.connect, left), silence=min(most.silence, left), total=min(most.total, left)
        )
        return client

    def _check(self) -> float:
        """The seconds that are left; raises where there are none, or no bytes."""
        if self._is_over:
            raise _limit_error("the run is over")
        if self._client is not None and self._client.bytes_read > self.limits.bytes:
            raise _limit_error(f"no more than {self.limits.bytes / 1_000_000:g} MB are read for one question")
        left = self._until - time.monotonic()
        if left <= 0:
            raise _limit_error(f"no more than {self.limits.seconds:g} seconds are spent on one question")
        return left


def _limit_error(text: str) -> TorchpickError:
    return TorchpickError(text, hint="name fewer packages, or their versions", code=LIMIT_CODE)


def _result(work: Callable[[T], U], item: T) -> U | TorchpickError:
    """What comes of it; an error is a value."""
    try:
        return work(item)
    except TorchpickError as error:
        return error


# A page to be read, its index, and its project; None for a link page of the user's, which has files of many.
IndexPage = tuple[str, str, "str | None"]


class ProjectReader:
    """For one run; a context manager, whose methods one thread calls.

    With a target a project's own page has only the files that are of use to it. What is kept is read by that thread.
    With `anew` no page is taken from an earlier run, nor kept for a later one.
    """

    def __init__(  # noqa: PLR0913 # what is read, for whom, and how
        self,
        places: IndexPlaces,
        environ: Mapping[str, str],
        report: Report = silent,
        *,
        target: IndexTarget | None = None,
        offline: bool = False,
        anew: bool = False,
        limits: ReadingLimits | None = None,
        web: Web | None = None,
    ) -> None:
        limits = limits or ReadingLimits()
        self.places, self._target, self._offline, self._anew = places, target, offline, anew
        self._cache = ProjectCache(cache_dir(environ), limits.age)
        self._web, self._shares = web or Web(environ, limits, report), web is not None
        self._links = [(url, url, None) for url in places.links]
        self._pages: dict[IndexPage, tuple[ProjectFile, ...] | TorchpickError | None] = {}
        self._metadata: dict[ProjectFile, Metadata | TorchpickError] = {}
        self._projects: set[str] = set()
        self._parsing = threading.Lock()  # one page at a time is in memory as objects
        self._as_of: list[float] = []

    def __enter__(self) -> ProjectReader:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        if not self._shares:
            self._web.close()

    @property
    def as_of(self) -> float | None:
        """The time of the oldest page that could not be asked for again, in seconds since the epoch."""
        return min(self._as_of, default=None)

    def pages(self, names: Iterable[str]) -> Mapping[str, tuple[ProjectFile, ...] | TorchpickError | None]:
        """The files of each project; None where no index knows it."""
        projects = list(dict.fromkeys(map(normal, names)))
        todo = [name for name in projects if self._is_within_bounds(name)]
        indexes = self.places.indexes
        with self._web.running(f"reading the index pages of {some_of(projects)}"):
            self._read_pages(self._links)
            if not self.places.first_only:
                self._read_pages([_page(index, name) for name in todo for index in indexes])
            for index in indexes if self.places.first_only else ():
                self._read_pages([_page(index, name) for name in todo])
                todo = [name for name in todo if self._pages.get(_page(index, name)) is None]
        return {name: self._files(name) for name in projects}

    def wheels(self, name: str) -> tuple[ProjectFile, ...] | None:
        """The wheels of one project; None where no index knows it, an error where that is not known."""
        files = self.pages([name])[normal(name)]
        if isinstance(files, TorchpickError):
            raise files
        return None if files is None else tuple(file for file in files if file.name.is_wheel)

    def linked_wheels(self) -> tuple[ProjectFile, ...]:
        """The wheels of the link pages, of whatever projects; an error where one of these cannot be read."""
        self._read_pages(self._links)
        for page in self._links:
            if isinstance(error := self._pages[page], TorchpickError):
                raise error
        return tuple(file for page in self._links for file in self._answer(page) if file.name.is_wheel)

    def best_wheel(  # which one, for what, and how it is said that there is none
        self, name: str, specifier: str, target: IndexTarget, hint: str, code: str = "NOT_ON_PAGE"
    ) -> ProjectFile:
        """The newest wheel of a project that suits; an error says why there is none."""
        listed = self.wheels(name)
        if wheels := best_wheels(listed or (), specifier, target):
            return wheels[0]
        places = ", ".join(dict.fromkeys(map(redacted, (*self.places.indexes, *self.places.links))))
        versions = ", ".join(file.version for file in best_wheels(listed or (), "", target)[:5])
        glibc = f" with glibc {target.platform.glibc}" if target.platform.glibc else ""
        why = f"it has {versions or 'none'} for {target}{glibc}" if listed else "no file of it is listed there"
        text = f"{places or 'no index'} has no {name}{specifier} that fits: {why}"
        raise InstallerError(text, hint=hint, code=code)

    def indexes_with(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Which of the indexes have files of each project, also those that are not asked because an earlier one has."""
        projects, indexes = list(dict.fromkeys(map(normal, names))), self.places.indexes
        self._read_pages([_page(index, name) for name in projects for index in indexes])
        return {name: tuple(url for url in indexes if self._answer(_page(url, name))) for name in projects}

    def metadata(self, files: Iterable[ProjectFile]) -> Mapping[ProjectFile, Metadata | TorchpickError]:
        files = list(dict.fromkeys(files))
        unread: list[ProjectFile] = []
        for file in (file for file in files if file not in self._metadata):
            is_local = file.url.startswith("file:")
            record = None if is_local else self._cache.metadata(file)
            if record is not None:
                self._metadata[file] = _or_error(file, record)
            elif self._offline and not is_local:
                self._metadata[file] = _offline_error(file.url)
            else:
                unread.append(file)
        names = list(dict.fromkeys(file.project for file in unread))
        with self._web.running(f"reading the requirements of {some_of(names)}"):
            self._metadata |= self._web.side_by_side(self._read_metadata, unread)
        return {file: self._metadata[file] for file in files}

    def _is_within_bounds(self, name: str) -> bool:
        if len(self._projects) < self._web.limits.projects:
            self._projects.add(name)
        return name in self._projects

    @cached_property
    def _linked(self) -> Mapping[str, list[ProjectFile]]:
        """The files of the link pages by their projects."""
        return grouped((file.project, file) for page in self._links for file in self._answer(page))

    def _answer(self, page: IndexPage) -> tuple[ProjectFile, ...]:
        files = self._pages[page]
        return files if isinstance(files, tuple) else ()

    def _files(self, name: str) -> tuple[ProjectFile, ...] | TorchpickError | None:
        if name not in self._projects:
            return _limit_error(f"no more than {self._web.limits.projects} projects are looked at for one question")
        pages_ = [_page(index, name) for index in self.places.indexes]
        if self.places.first_only:
            first = next((page for page in pages_ if self._pages[page] is not None), None)
            pages_ = [] if first is None else pages_[: pages_.index(first) + 1]
        linked = self._linked.get(name, [])
        for page in (*self._links, *pages_):
            # Where nothing is asked for over the network, the files that lie here are all there is.
            if isinstance(error := self._pages[page], TorchpickError) and not (self._offline and linked):
                return error
        is_known = linked or any(isinstance(self._pages[page], tuple) for page in pages_)
        return (*linked, *(file for page in pages_ for file in self._answer(page))) if is_known else None

    def _read_pages(self, pages_: Iterable[IndexPage]) -> None:
        stale: dict[IndexPage, KeptPage | None] = {}
        for page in (page for page in dict.fromkeys(pages_) if page not in self._pages):
            url, index_url, project = page
            if url.startswith("file:"):
                self._pages[page] = _result(self._read_local, page)
                continue
            record = None if self._anew else self._cache.page(url, index_url, self._target_of(project))
            read_at, _, files = record or (0.0, "", None)
            if record is not None and (self._offline or self._cache.is_fresh(read_at)):
                self._as_of += [read_at] if self._offline else []
                self._pages[page] = files
            elif self._offline:
                self._pages[page] = _offline_error(url)
            else:
                stale[page] = record
        self._pages |= self._web.side_by_side(lambda page: self._read_page(page, stale[page]), stale)

    def _target_of(self, project: str | None) -> IndexTarget | None:
        """A link page is kept whole: it has files of many projects."""
        return None if project is None else self._target

    def _read_page(self, page: IndexPage, record: KeptPage | None) -> tuple[ProjectFile, ...] | None:
        """As it is now, or as it was where the index is out of reach."""
        url, _, project = page
        target, headers = self._target_of(project), {"accept": pages.ACCEPT}
        read_at, etag, files = record or (0.0, "", None)
        if etag and files is not None:
            headers["if-none-match"] = etag
        try:
            document = self._web.client.get(url, headers, absent=True)
        except NetworkError:
            if record is None:
                raise
            self._as_of.append(read_at)
            return files
        if document.status == 304 and record is not None:
            return self._cache.keep_page(url, (time.time(), etag, files), target)
        if document.status == 403:  # it may be there, and forbidden until a password is set
            return None
        with self._parsing:
            kind = document.headers.get("content-type", "")
            files = self._parse(page, document.body, document.url, kind) if document.status == 200 else None
            read = (time.time(), document.headers.get("etag", ""), files)
            return files if self._anew else self._cache.keep_page(url, read, target)

    def _read_local(self, page: IndexPage) -> tuple[ProjectFile, ...] | None:
        url, *_ = page
        content = pages.page_in_folder(url)
        return None if content is None else self._parse(page, *content)

    def _parse(self, page: IndexPage, body: bytes, base: str, kind: str = "text/html") -> tuple[ProjectFile, ...]:
        url, index_url, project = page
        with named(url):
            return _of_project(project, pages.files(body, base, kind, index_url))

    def _read_metadata(self, file: ProjectFile) -> Metadata | TorchpickError:
        with named(file.url):
            metadata = read_metadata(file, lambda: self._web.client)
        if not file.url.startswith("file:"):
            self._cache.keep_metadata(file, metadata)
        return _or_error(file, metadata)


def _of_project(project: str | None, files: Iterable[ProjectFile]) -> tuple[ProjectFile, ...]:
    return tuple(file for file in files if project in (None, file.project))


def _page(index: str, name: str) -> IndexPage:
    return _url_of(index, name), index, name


def _url_of(index: str, name: str) -> str:
    return f"{index.rstrip('/')}/{quote(name, safe='')}/"


def _or_error(file: ProjectFile, metadata: Metadata | str) -> Metadata | TorchpickError:
    """What it requires; a text is the reason why that cannot be read."""
    if isinstance(metadata, str):
        hint = "what it requires is known only once it is built"
        return WheelError(f"{file.file}: {metadata}", hint=hint, code="REQUIREMENTS_UNKNOWN")
    return metadata


def _offline_error(url: str) -> TorchpickError:
    text = f"{redacted(url)} is not kept on this computer, and `--offline` is given"
    return UsageError(text, hint="run it without `--offline`")
