"""What the user's own indexes have of projects, and what their files require: read side by side, each once, bounded.

What comes back depends on the indexes alone, never on the order of replies, but for what a bound cuts off.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote

from torchpick.errors import (
    BrokenOffError,
    NetworkError,
    RangesUnsupportedError,
    TorchpickError,
    UsageError,
    WheelError,
    silent,
)
from torchpick.index import listing, pages, projectfiles
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projectcache import KeptPage, ProjectCache
from torchpick.index.projectfiles import ProjectFile
from torchpick.index.ranges import WHOLE, FileSource, Source
from torchpick.index.user_index import IndexTarget
from torchpick.index.web import ReadingLimits, Web, limit_error, result
from torchpick.index.wheelnames import parsed_version
from torchpick.knowledge.locations import cache_dir
from torchpick.model.metadata import Metadata, MetadataSource, parse_metadata
from torchpick.model.redaction import redacted
from torchpick.model.versions import grouped, normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# From a server without ranges: sixteen wheels of this size may be in memory at once, and one that is larger.
_SMALL_WHEEL = 4 << 20


class PageJob(NamedTuple):
    """A page to be read: of one project on an index, or a link page of the user's, which has files of many."""

    url: str
    index_url: str
    project: str | None


class ProjectReader:
    """For one run; a context manager, whose methods one thread calls.

    With a target a project's own page has only the files that are of use to it. What is kept is read by that thread.
    """

    def __init__(  # noqa: PLR0913 # what is read, for whom, and how
        self,
        places: IndexPlaces,
        environ: Mapping[str, str],
        report: Report = silent,
        *,
        target: IndexTarget | None = None,
        offline: bool = False,
        limits: ReadingLimits | None = None,
    ) -> None:
        limits = limits or ReadingLimits()
        self._places, self._target, self._offline = places, target, offline
        self._cache = ProjectCache(cache_dir(environ), limits.age)
        self._web = Web(environ, limits, report)
        self._pages: dict[PageJob, tuple[ProjectFile, ...] | TorchpickError | None] = {}
        self._metadata: dict[ProjectFile, Metadata | TorchpickError] = {}
        self._projects: set[str] = set()
        self._parsing = threading.Lock()  # one page at a time is in memory as objects
        self._large = threading.Lock()
        self._as_of: list[float] = []

    def __enter__(self) -> ProjectReader:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        self._web.close()
        self._cache.prune()

    @property
    def as_of(self) -> float | None:
        """The time of the oldest page that could not be asked for again, in seconds since the epoch."""
        return min(self._as_of, default=None)

    def pages(self, names: Iterable[str]) -> Mapping[str, tuple[ProjectFile, ...] | TorchpickError | None]:
        """The files of each project; None where no index knows it."""
        wanted = list(dict.fromkeys(map(normal, names)))
        open_names = [name for name in wanted if self._is_within_bounds(name)]
        indexes = self._places.indexes
        with self._web.running(f"reading the index pages of {len(wanted)} projects"):
            self._read_pages(self._links)
            if not self._places.first_only:
                self._read_pages([_job(index, name) for name in open_names for index in indexes])
            for index in indexes if self._places.first_only else ():
                self._read_pages([_job(index, name) for name in open_names])
                open_names = [name for name in open_names if self._pages.get(_job(index, name)) is None]
        return {name: self._files(name) for name in wanted}

    def indexes_with(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Which of the indexes have files of each project, also those that are not asked because an earlier one has."""
        wanted, indexes = list(dict.fromkeys(map(normal, names))), self._places.indexes
        self._read_pages([_job(index, name) for name in wanted for index in indexes])
        has = {job for job, page in self._pages.items() if isinstance(page, tuple) and page}
        return {name: tuple(index for index in indexes if _job(index, name) in has) for name in wanted}

    def metadata(self, files: Iterable[ProjectFile]) -> Mapping[ProjectFile, Metadata | TorchpickError]:
        """What each file requires."""
        wanted = list(dict.fromkeys(files))
        unread: list[ProjectFile] = []
        for file in wanted:
            if file in self._metadata:
                continue
            is_local = file.url.startswith("file:")
            kept = None if is_local else self._cache.metadata(file)
            if kept is not None:
                self._metadata[file] = _known(file, kept)
            elif self._offline and not is_local:
                self._metadata[file] = _offline_error(file.url)
            else:
                unread.append(file)
        with self._web.running(f"reading what {len(unread)} packages require"):
            self._metadata |= self._web.side_by_side(self._read_metadata, unread)
        return {file: self._metadata[file] for file in wanted}

    def _is_within_bounds(self, name: str) -> bool:
        if len(self._projects) < self._web.limits.projects:
            self._projects.add(name)
        return name in self._projects

    @cached_property
    def _links(self) -> list[PageJob]:
        return [PageJob(url, url, None) for url in self._places.links]

    @cached_property
    def _linked(self) -> Mapping[str, list[ProjectFile]]:
        """The files of the link pages by their projects."""
        pages_ = [page for job in self._links if isinstance(page := self._pages[job], tuple)]
        return grouped((file.project, file) for page in pages_ for file in page)

    def _files(self, name: str) -> tuple[ProjectFile, ...] | TorchpickError | None:
        """What the pages that were read have of it."""
        if name not in self._projects:
            return limit_error(f"no more than {self._web.limits.projects} projects are looked at for one question")
        answers = [self._pages[job] for job in self._links]
        for index in self._places.indexes:
            answers.append(self._pages[_job(index, name)])
            if self._places.first_only and answers[-1] is not None:
                break
        linked = self._linked.get(name, [])
        for answer in answers:
            # Where nothing is asked for over the network, the files that lie here are all there is.
            if isinstance(answer, TorchpickError) and not (self._offline and linked):
                return answer
        own = [answer for answer in answers[len(self._links) :] if isinstance(answer, tuple)]
        return (*linked, *(file for answer in own for file in answer)) if own or linked else None

    def _read_pages(self, jobs: Iterable[PageJob]) -> None:
        stale: dict[PageJob, KeptPage | None] = {}
        for job in dict.fromkeys(jobs):
            if job in self._pages:
                continue
            if job.url.startswith("file:"):
                self._pages[job] = result(self._local_page, job)
                continue
            kept = self._cache.page(job.url, job.index_url, self._target_of(job))
            if kept is not None and (self._offline or self._cache.is_fresh(kept.time)):
                self._as_of += [kept.time] if self._offline else []
                self._pages[job] = kept.files
            elif self._offline:
                self._pages[job] = _offline_error(job.url)
            else:
                stale[job] = kept
        self._pages |= self._web.side_by_side(lambda job: self._page(job, stale[job]), stale)

    def _target_of(self, job: PageJob) -> IndexTarget | None:
        """A link page is kept whole: it has files of many projects."""
        return None if job.project is None else self._target

    def _local_page(self, job: PageJob) -> tuple[ProjectFile, ...] | None:
        page = pages.page_in_folder(job.url)
        return None if page is None else self._rows(job, *page)

    def _page(self, job: PageJob, kept: KeptPage | None) -> tuple[ProjectFile, ...] | None:
        """As it is now, or as it was where the index is out of reach."""
        try:
            return self._fetched(job, kept)
        except NetworkError:
            if kept is None:
                raise
            self._as_of.append(kept.time)
            return kept.files

    def _fetched(self, job: PageJob, kept: KeptPage | None) -> tuple[ProjectFile, ...] | None:
        headers = {"accept": pages.ACCEPT}
        if kept is not None and kept.etag and kept.files is not None:
            headers["if-none-match"] = kept.etag
        document, target = self._web.get(job.url, headers), self._target_of(job)
        if document.status == 304 and kept is not None:
            return self._cache.renew_page(job.url, kept._replace(time=time.time()), target).files
        if document.status == 403:  # it may be there, and forbidden until a password is set
            return None
        with self._parsing:
            kind = document.headers.get("content-type", "")
            rows = self._rows(job, document.body, document.url, kind) if document.status == 200 else None
            page = KeptPage(time.time(), document.headers.get("etag", ""), rows)
            return self._cache.keep_page(job.url, page, target).files

    def _rows(self, job: PageJob, body: bytes, base: str, kind: str = "text/html") -> tuple[ProjectFile, ...]:
        with _named(job.url):
            entries = listing.entries(body, base, kind)
            rows = [projectfiles.of_entry(entry, job.index_url) for entry in entries]
            return tuple(row for row in rows if row is not None and job.project in (None, row.project))

    def _read_metadata(self, file: ProjectFile) -> Metadata | TorchpickError:
        metadata = self._read_anew(file)
        if not file.url.startswith("file:"):
            self._cache.keep_metadata(file, metadata)
        return _known(file, metadata)

    def _read_anew(self, file: ProjectFile) -> Metadata | str:
        """What it requires; a text says why that cannot be read."""
        with _named(file.url):
            try:
                found = self._of_sdist(file) if file.wheel is None else self._of_wheel(file)
            except ValueError as error:
                raise WheelError(f"its metadata is not valid: {error}", hint="request another version of it") from error
            if found is None:
                return "its source does not say what it requires"
            if found.name != file.project or parsed_version(found.version) != parsed_version(file.version):
                text = f"its metadata is that of {found.name} {found.version}"
                raise WheelError(text, hint="request another version of it")
        return found._replace(version=file.version)  # which may be spelled with a zero less

    def _of_wheel(self, file: ProjectFile) -> Metadata:
        if file.metadata is not None and not file.url.startswith("file:"):
            document = self._web.get(f"{file.url}.metadata", {})
            if document.status == 200:
                said = pages.sidecar(document.body, file.metadata, file.url)
                return parse_metadata(said, MetadataSource.SIDECAR)
        from torchpick.index.archive import Archive, metadata_of  # few files have none beside them

        with self._opened(file) as source:
            text = metadata_of(Archive(source))
        if text is None:
            raise WheelError("it has no METADATA", hint="request another version of it")
        return parse_metadata(text, MetadataSource.WHEEL)

    @contextmanager
    def _opened(self, file: ProjectFile) -> Iterator[Source]:
        with ExitStack() as stack:
            if file.url.startswith("file:"):
                yield stack.enter_context(closing(FileSource(pages.local(file.url))))
                return
            try:
                source = self._web.source(file.url, _SMALL_WHEEL)
            except RangesUnsupportedError:
                stack.enter_context(self._large)
                source = self._web.source(file.url, WHOLE)
            yield stack.enter_context(closing(source))

    def _of_sdist(self, file: ProjectFile) -> Metadata | None:
        from torchpick.index import sdists
        from torchpick.index.archive import Archive

        if file.file.endswith(".zip"):
            with self._opened(file) as source:
                return sdists.read_zip(Archive(source), file.project, file.version)
        if file.url.startswith("file:"):
            with self._opened(file) as source:
                return sdists.read_tar(source.stream(0, source.size), file.project, file.version)
        try:
            return self._of_tar(file)
        except BrokenOffError:
            return self._of_tar(file)

    def _of_tar(self, file: ProjectFile) -> Metadata | None:
        from torchpick.index import sdists

        with self._web.stream(file.url) as chunks:
            return sdists.read_tar(chunks, file.project, file.version)


def _job(index: str, name: str) -> PageJob:
    return PageJob(f"{index.rstrip('/')}/{quote(name, safe='')}/", index, name)


def _known(file: ProjectFile, metadata: Metadata | str) -> Metadata | TorchpickError:
    """What it requires; a text is the reason why that cannot be read."""
    if isinstance(metadata, str):
        hint = "what it requires is known only once it is built"
        return WheelError(f"{file.file}: {metadata}", hint=hint, code="REQUIREMENTS_UNKNOWN")
    return metadata


def _offline_error(url: str) -> TorchpickError:
    text = f"{redacted(url)} is not kept on this computer, and `--offline` is given"
    return UsageError(text, hint="run it once without `--offline`")


@contextmanager
def _named(url: str) -> Iterator[None]:
    """An error about what lies there names it."""
    try:
        yield
    except WheelError as error:
        name = redacted(url)
        if name in error.message:
            raise
        raise type(error)(f"{name}: {error.message}", hint=error.hint, code=error.code) from error
