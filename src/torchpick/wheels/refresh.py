"""Bringing the user's table up to the live index: list it, compare it with what is known, read what is new."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from torchpick.errors import RangesUnsupportedError, TorchpickError, WheelError
from torchpick.index import pages
from torchpick.index.client import Client
from torchpick.index.listing import Link
from torchpick.index.pages import Page
from torchpick.index.ranges import FileSource, RemoteSource, Source
from torchpick.knowledge import locations, refreshed
from torchpick.model.arch import Arch
from torchpick.model.build import DEFAULT_INDEX, Build, BuildKey, Evidence, is_unified
from torchpick.model.fields import ShapeError
from torchpick.model.machine import TABLE_PLATFORMS
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal
from torchpick.wheels import judging, listed, shelf, wheel
from torchpick.wheels.archive import Archive
from torchpick.wheels.companion_pages import CompanionPages
from torchpick.wheels.judging import Judge
from torchpick.wheels.librarycode import texts
from torchpick.wheels.listed import FailedRead, ListedBuild
from torchpick.wheels.readings import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

Table = Mapping[BuildKey, Build]
# Of a wheel from a server without ranges; the largest torch wheel, for Windows, has 2.8 GB.
_MOST_WHOLE = 4096 << 20
# The libraries whose pins the table keeps: a pick is checked against their floors.
# `nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system …` and the newer spelling without brackets.
_PIN = re.compile(r"^Requires-Dist: *((?:nvidia-[a-z0-9-]+|triton)) *\(?==([0-9][0-9A-Za-z.]*)\)?", re.MULTILINE)
_PINNED = {"nvidia-cudnn": "cudnn", "nvidia-nccl": "nccl", "triton": "triton"}


class RefreshJob(Noun):
    """What is to be refreshed. `reads` says of which builds the wheels are read; `forced`: known ones too.

    `base` distinguishes its rows from those of other indexes. The channel of the user's own index is `default`.
    """

    cache: Path
    base: str
    channel: str
    pages: tuple[tuple[str, ...], ...]  # of torch, the likeliest first: the first group that is there is taken
    reads: Callable[[ListedBuild], bool]
    forced: bool
    today: str | None = None  # the day, which the table is then as new as


class Refreshed(Noun):
    """What a refresh did."""

    pages: tuple[Page, ...]
    added: tuple[Build, ...]
    read: tuple[Build, ...]
    unread: tuple[ListedBuild, ...]
    failures: tuple[FailedRead, ...]
    bytes_read: int
    requests: int


def run(job: RefreshJob, shipped: Table, report: Report) -> Refreshed:
    """Refresh under the cache's lock; whatever is read is kept at once, so a run that is cut short loses one wheel."""
    with (
        shelf.locked(job.cache, lambda: report("another refresh is running: waiting for it")),
        Client() as client,
    ):
        shelf.sweep(job.cache / "table")
        return _Run(job, shipped, report, client).work()


def together(reports: Iterable[Refreshed]) -> Refreshed:
    """What several refreshes did, as one."""
    first, *others = reports
    for other in others:
        first = Refreshed(*(getattr(first, name) + getattr(other, name) for name in Refreshed._fields))
    return first


class _Run:
    def __init__(self, job: RefreshJob, shipped: Table, report: Report, client: Client) -> None:
        self.job, self.shipped, self.report, self.client = job, shipped, report, client
        self.rows: dict[BuildKey, Build] = {}
        self.listed: set[BuildKey] = set()
        self.cost = self.requests = 0

    def work(self) -> Refreshed:
        kept = dict(cached(self.job.cache, self.job.base, self.job.channel))
        fetched, builds = self._listed()
        self.listed = here = {each.key for each in builds}
        self.rows = {key: row for key, row in _still_needed(kept, self.shipped).items() if key in here}
        unlike = listed.with_another_hash(builds, (*self.shipped.values(), *kept.values()))
        found = tuple(each for each in builds if each.key not in unlike)
        news = listed.compare(found, {**self.shipped, **self.rows})
        added = tuple(row for row in news.changed if row.key not in self.shipped)
        # Rows of earlier runs that had no companions yet are looked at again.
        changed = {key: row for key, row in self.rows.items() if not row.companions and row.family != "xpu"}
        changed.update({row.key: row for row in news.changed})
        for row in self._paired(changed.values(), fetched):
            self.rows[row.key] = row
        self._write(TABLE_PLATFORMS)
        new = {each.key for each in news.unread}
        todo = [each for each in found if self.job.reads(each) and (each.key in new or _is_forced(self.job, each))]
        read, failures = self._read(todo)
        done = {row.key for row in read}
        return Refreshed(
            fetched,
            added,
            read,
            tuple(each for each in news.unread if each.key not in done),
            (*unlike.values(), *failures),
            self.cost,
            self.requests,
        )

    def _listed(self) -> tuple[tuple[Page, ...], tuple[ListedBuild, ...]]:
        """The pages of the index and the builds on them."""
        fetched = []
        for urls in self.job.pages:
            fetched = [self._fetch(url) for url in urls]
            if not all(page.missing for page in fetched):
                break
        else:
            hint = "specify the index with `--index-base URL`"
            if self.job.channel == DEFAULT_INDEX:
                hint = "pip's and uv's settings say which index is yours"
            raise WheelError(f"{redacted(self.job.base)} has no page for torch", hint=hint)
        there = [page for page in fetched if not page.missing]
        links = [link for page in there for link in page.links or ()]
        return tuple(there), listed.builds(links, self.job.channel)

    def _fetch(self, url: str) -> Page:
        self.report(f"reading {redacted(url)}")
        page = pages.fetch(url, self.client)
        self.cost += page.cost
        self.requests += 0 if url.startswith("file:") else 1
        return page

    def _paired(self, new: Iterable[Build], fetched: Iterable[Page]) -> Iterator[Build]:
        """The rows with their companions, which are those that the companions' own pages hold."""
        pages = CompanionPages(lambda name: self._companion_links(name, fetched), self._text)
        for row in new:
            as_it_is = row.companions or row.family == "xpu" or self.job.channel in listed.DATED
            yield row if as_it_is else pages.paired(row)

    def _companion_links(self, name: str, fetched: Iterable[Page]) -> Iterator[Link]:
        """The files of a companion, from the pages beside those of torch; a page that fails is ignored."""
        for page in fetched:
            with suppress(TorchpickError):
                # A flat page holds everything.
                url = f"{page.url.removesuffix('/torch/')}/{name}/" if page.url.endswith("/torch/") else page.url
                yield from self._fetch(url).links or ()

    def _text(self, url: str) -> str:
        """A wheel's METADATA, read by ranges."""
        with self._archive(url) as archive:
            return wheel.metadata_of(archive) or ""

    def _read(self, todo: list[ListedBuild]) -> tuple[tuple[Build, ...], tuple[FailedRead, ...]]:
        """The rows of what could be read, and the rest; each is kept as soon as it is read."""
        read: list[Build] = []
        failures: list[FailedRead] = []
        for place, each in enumerate(todo, 1):
            self.report(f"{place} of {len(todo)}: {each.sample.file}")
            try:
                row = self._measured(each)
            except TorchpickError as error:
                failures.append(FailedRead(each, error))
                continue
            self.rows[each.key] = row
            self._write({each.platform})
            read.append(row)
        return tuple(read), tuple(failures)

    def _measured(self, found: ListedBuild) -> Build:
        with self._archive(found.sample.url) as archive:
            reading = wheel.of_release(archive, found.sample)
        before = self.rows.get(found.key) or self.shipped.get(found.key) or listed.declared(found)
        return measured_row(found, reading, before)

    @contextmanager
    def _archive(self, url: str) -> Iterator[Archive]:
        """A wheel read by ranges; from a server that supports none it is downloaded once."""
        with ExitStack() as stack:
            if url.startswith("file:"):
                source: Source = FileSource(pages.local(url), self.report)
            else:
                source = self._opened(url, stack)
            try:
                yield Archive(source)
            finally:
                source.close()
                self.cost += source.bytes_read
                self.requests += source.requests

    def _opened(self, url: str, stack: ExitStack) -> Source:
        try:
            return RemoteSource(url, self.client, self.report)
        except RangesUnsupportedError:
            allowed = pages.Allowed(_MOST_WHOLE)
            return FileSource(pages.download(url, self.client, stack, allowed, self.report))

    def _write(self, platforms: Iterable[str]) -> None:
        for platform in platforms:
            builds = [row for (where, *_), row in self.rows.items() if where == platform]
            names = sorted(
                refreshed.name_of(version, backend) for where, version, backend in self.listed if where == platform
            )
            value = {**refreshed.index(platform, builds), "date": self.job.today, "listed": names}
            shelf.write(table_file(self.job.cache, self.job.base, self.job.channel, platform), value)


def page_urls(base: str, channel: str, backends: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The pages of the wheel host to ask, the likeliest first: one of everything, else one of each backend."""
    if base.startswith("flat+"):
        return ((base.removeprefix("flat+"),),)
    root = base.rstrip("/") + ("" if channel == "stable" else f"/{channel}")
    return (f"{root}/torch/",), tuple(f"{root}/{backend}/torch/" for backend in backends)


def table_file(cache: Path, base: str, channel: str, platform: str) -> Path:
    return Path(locations.table_file(str(cache), base, channel, platform))


def cached(cache: Path, base: str, channel: str) -> Iterator[tuple[BuildKey, Build]]:
    """The rows of earlier refreshes from this base; a file that is not ours any more is ignored."""
    for platform in TABLE_PLATFORMS:
        value = shelf.read(table_file(cache, base, channel, platform))
        try:
            builds = refreshed.read(value)[0]
        except ShapeError:
            continue
        yield from ((each.key, each) for each in builds)


def _still_needed(kept: Mapping[BuildKey, Build], shipped: Table) -> dict[BuildKey, Build]:
    """What earlier runs read themselves, and what they listed that the table still lacks; the rest is made anew."""
    found = {}
    for key, row in kept.items():
        known = shipped.get(key)
        fresh = known is None or (row.evidence.kind == "measured" and known.evidence.kind != "measured")
        if fresh:
            found[key] = row
    return found


def _is_forced(job: RefreshJob, found: ListedBuild) -> bool:
    """Whether its wheel is read although the table knows it: it was named, and there is GPU code to read."""
    return job.forced and listed.arches_of(found) is None


def measured_row(found: ListedBuild, reading: Reading, before: Build) -> Build:
    """The row of a wheel that was read; companions and what no wheel contains stay as they were."""
    link = found.sample
    required = {
        name: version
        for project, version in pins(reading).items()
        for prefix, name in _PINNED.items()
        if project.startswith(prefix)
    }
    missing = {library: tuple(Arch.parse(text) for text in texts) for library, texts in lacks(reading).items()}
    digest = f" sha256:{link.sha256}" if link.sha256 else ""
    return before._replace(
        cuda=None if reading.torch is None else reading.torch.cuda,
        arches=(*reading.sass, *reading.ptx),
        pythons=found.pythons or before.pythons,
        tags=found.tags,
        glibc=found.glibc,
        libraries={**before.libraries, **required},
        lacks=missing,
        published=True,
        yanked=found.yanked,
        evidence=Evidence("measured", link.file + digest, before.evidence.twin),
    )


def pins(reading: Reading) -> dict[str, str]:
    """The exact libraries that a torch asks for; CPU builds of other platforms carry Linux's behind a condition."""
    on_cuda = reading.torch is not None and reading.torch.cuda
    return {normal(name): version for name, version in _PIN.findall(reading.metadata or "") if on_cuda}


def lacks(reading: Reading) -> dict[str, list[str]]:
    """Library → the architectures that a torch's flags name and that it does not support, or hardly supports."""
    torch = reading.torch
    judge = Judge(Arch.of_capability(0, 0), unified=torch is not None and is_unified(torch.version, torch.cuda))
    found: dict[str, list[str]] = {}
    for one in reading.libraries:
        verdicts = [(arch, judging.of_library(one, judge._replace(gpu=arch))) for arch in reading.sass]
        missing = [arch for arch, verdict in verdicts if verdict is not None and verdict.fails]
        if missing:
            found[one.path.rpartition("/")[2]] = texts(missing)
    return found
