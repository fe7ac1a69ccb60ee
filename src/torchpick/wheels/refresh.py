"""Bringing the user's table up to the live index: list it, hold it against what is known, read what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx

from torchpick.errors import TorchpickError, WheelError
from torchpick.model import compact, rows
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence
from torchpick.model.fields import Fields, ShapeError
from torchpick.wheels import companions, live, measured, memory, pages, shelf, web
from torchpick.wheels.archive import Archive
from torchpick.wheels.live import Found
from torchpick.wheels.measured import Measured
from torchpick.wheels.pages import Page
from torchpick.wheels.source import FileSource, Source, Tell

Key = tuple[str, str, str]  # platform, version, backend
Table = Mapping[Key, Build]
# The libraries whose pins the table keeps: a pick is held against their floors.
_PINNED = {"nvidia-cudnn": "cudnn", "nvidia-nccl": "nccl", "triton": "triton"}


class Job(NamedTuple):
    """What is to be refreshed. `reads` says of which builds the wheels are read; `forced` of which in any case."""

    cache: Path
    base: str
    channel: str
    backends: tuple[str, ...]  # whose own pages are asked where there is no page of all
    reads: Callable[[Found], bool]
    forced: Callable[[Found], bool]
    whole: bool = True  # the index has all that there is: what it lacks is gone


class Talk(NamedTuple):
    """Where progress goes."""

    say: Callable[[str], None]
    tell: Tell | None = None


class Contradiction(NamedTuple):
    """A row of the table that says other than the wheel that was read."""

    build: Build  # as it was read
    before: Build

    @property
    def text(self) -> str:
        """What was declared, and what is there."""
        was, now = (" ".join(map(str, each.arches or ())) or "none" for each in (self.before, self.build))
        return f"{self.build.version} for {self.build.platform}: declared {was}; read {now}"


class Report(NamedTuple):
    """What a refresh did."""

    pages: tuple[Page, ...]
    added: tuple[Build, ...]
    changed: tuple[Build, ...]
    read: tuple[Build, ...]
    contradictions: tuple[Contradiction, ...]
    gone: tuple[Build, ...]
    unread: tuple[Found, ...]
    failures: tuple[tuple[Found, TorchpickError], ...]
    bytes_read: int
    requests: int


def run(job: Job, shipped: Table, talk: Talk) -> Report:
    """Refresh under the cache's lock; whatever is read is kept at once, so a run that is cut short loses one wheel."""
    with (
        shelf.locked(job.cache, lambda: talk.say("another refresh is at work: waiting for it")),
        web.client() as client,
    ):
        for folder in (job.cache / "table", job.cache / "pages"):
            shelf.sweep(folder)
        return _Run(job, shipped, talk, client).work()


class _Run:
    def __init__(self, job: Job, shipped: Table, talk: Talk, client: httpx.Client) -> None:
        self.job, self.shipped, self.talk, self.client = job, shipped, talk, client
        self.rows: dict[Key, Build] = {}
        self.cost = self.requests = 0

    def work(self) -> Report:
        kept = dict(cached(self.job.cache, self.job.channel))
        fetched, found = self._listed()
        self.rows = _still_needed(kept, self.shipped)
        if self.job.channel in live.DATED:  # yesterday's nightly is gone tomorrow
            here = {each.key for each in found}
            self.rows = {key: row for key, row in self.rows.items() if key in here}
        news = live.compare(found, {**self.shipped, **self.rows}, whole=self.job.whole)
        added = tuple(row for row in news.changed if (row.platform, row.version, row.backend) not in self.shipped)
        for row in self._paired(news.changed):
            self.rows[row.platform, row.version, row.backend] = row
        self._write({platform for platform, *_ in (*self.rows, *kept)})
        memory.save(self.job.cache, self.job.channel, self.job.base, fetched, found)
        new = {each.key for each in news.unread}
        todo = [each for each in found if self.job.forced(each) or (each.key in new and self.job.reads(each))]
        read, contradictions, failures = self._read(todo)
        done = {(row.platform, row.version, row.backend) for row in read}
        return Report(
            fetched,
            added,
            tuple(row for row in news.changed if row not in added),
            tuple(read),
            tuple(contradictions),
            news.gone,
            tuple(each for each in news.unread if each.key not in done),
            tuple(failures),
            self.cost,
            self.requests,
        )

    def _listed(self) -> tuple[tuple[Page, ...], tuple[Found, ...]]:
        """The pages of the index and the builds on them; those of last time where no page has changed."""
        known = memory.load(self.job.cache, self.job.channel, self.job.base)
        fetched = []
        for urls in page_urls(self.job):
            fetched = [self._fetch(url, known.tags.get(url)) for url in urls]
            if not all(page.missing for page in fetched):
                break
        else:
            raise WheelError(
                f"{web.redacted(self.job.base)} has no page of torch", hint="name the index with `--index-base URL`"
            )
        there = [page for page in fetched if not page.missing]
        if any(page.links is None for page in there):
            if all(page.links is None for page in there) and {page.url for page in there} == set(known.tags):
                return tuple(there), known.found
            # Some changed and some did not, and what was on the others is known only together: read them again.
            there = [page if page.links is not None else self._fetch(page.url, None) for page in there]
        links = [link for page in there for link in page.links or ()]
        return tuple(there), live.builds(links, self.job.channel)

    def _fetch(self, url: str, tag: str | None) -> Page:
        self.talk.say(f"reading {web.redacted(url)}")
        page = pages.fetch(url, self.client, tag)
        self.cost += page.cost
        self.requests += 0 if url.startswith("file:") else 1
        return page

    def _paired(self, new: Iterable[Build]) -> Iterator[Build]:
        """The rows with their companions: those of the same release, else what the companions' own pages say."""
        by_release = {row.torch: row for row in self.shipped.values() if row.companions}
        found: dict[str, companions.Pair] = {}
        for row in new:
            if row.companions or row.family == "xpu" or self.job.channel in live.DATED:
                yield row
            elif row.torch in by_release:
                yield companions.like(by_release[row.torch], row)
            else:
                if row.torch not in found:
                    self.talk.say(f"looking for what goes with torch {row.torch}")
                    found[row.torch] = companions.find(
                        row.torch, lambda url: self._fetch(url, None), self._text, self.job
                    )
                yield companions.labelled(found[row.torch], row)

    def _text(self, url: str, file: str) -> str:
        """A wheel's METADATA, read by ranges."""
        source = self._open(url)
        try:
            return measured.metadata(Archive(source), file)
        finally:
            self._close(source)

    def _read(self, todo: list[Found]) -> tuple[list[Build], list[Contradiction], list[tuple[Found, TorchpickError]]]:
        read: list[Build] = []
        contradictions: list[Contradiction] = []
        failures: list[tuple[Found, TorchpickError]] = []
        for place, each in enumerate(todo, 1):
            self.talk.say(f"{place} of {len(todo)}: {each.sample.file}")
            try:
                row = self._measured(each)
            except TorchpickError as error:
                failures.append((each, error))
                continue
            before = self.rows.get(each.key) or self.shipped.get(each.key)
            if before is not None and before.arches is not None and set(before.arches) != set(row.arches or ()):
                contradictions.append(Contradiction(row, before))
            self.rows[each.key] = row
            self._write({each.platform})
            read.append(row)
        return read, contradictions, failures

    def _measured(self, found: Found) -> Build:
        source = self._open(found.sample.url)
        try:
            one = measured.read(Archive(source), found.sample, deep=True)
        finally:
            self._close(source)
        before = self.rows.get(found.key) or self.shipped.get(found.key) or live.declared(found)
        return measured_row(found, one, before)

    def _open(self, url: str) -> Source:
        if url.startswith("file:"):
            return FileSource(pages.local(url), self.talk.tell)
        from torchpick.wheels.remote import RemoteSource

        return RemoteSource(url, self.client, self.talk.tell)

    def _close(self, source: Source) -> None:
        source.close()
        self.cost += source.bytes_read
        self.requests += source.requests

    def _write(self, platforms: set[str]) -> None:
        for platform in platforms:
            builds = [row for (where, *_), row in self.rows.items() if where == platform]
            shelf.write(table_file(self.job.cache, self.job.channel, platform), compact.index(platform, builds))


def page_urls(job: Job) -> Iterator[tuple[str, ...]]:
    """The pages to ask, the likeliest first: one of everything, else one of each backend."""
    if job.base.startswith("flat+"):
        yield (job.base.removeprefix("flat+"),)
        return
    root = job.base.rstrip("/") + ("" if job.channel == "stable" else f"/{job.channel}")
    yield (f"{root}/torch/",)
    yield tuple(f"{root}/{backend}/torch/" for backend in job.backends)


def table_file(cache: Path, channel: str, platform: str) -> Path:
    return cache / "table" / f"{channel}-{platform}.json"


def cached(cache: Path, channel: str) -> Iterator[tuple[Key, Build]]:
    """The rows of earlier refreshes; a file that is not ours any more is as good as none."""
    for path in sorted((cache / "table").glob(f"{channel}-*.json")):
        value = shelf.read(path)
        try:
            builds = [each for read in rows.index_shelf(Fields(value)).values() for each in read()]
        except ShapeError:
            continue
        yield from (((each.platform, each.version, each.backend), each) for each in builds)


def _still_needed(kept: Mapping[Key, Build], shipped: Table) -> dict[Key, Build]:
    """What earlier runs read themselves, and what they listed that the table still lacks; the rest is made anew."""
    found = {}
    for key, row in kept.items():
        known = shipped.get(key)
        fresh = known is None or (row.evidence.kind == "measured" and known.evidence.kind != "measured")
        if fresh:
            found[key] = row
    return found


def measured_row(found: Found, one: Measured, before: Build) -> Build:
    """The row of a wheel that was read; companions and what no wheel tells stay as they were."""
    link = found.sample
    pins = {
        name: version
        for project, version in one.pins.items()
        for prefix, name in _PINNED.items()
        if project.startswith(prefix)
    }
    lacks = {library: tuple(Arch.parse(text) for text in texts) for library, texts in one.lacks.items()}
    digest = f" sha256:{link.sha256}" if link.sha256 else ""
    return before._replace(
        cuda=one.torch.cuda,
        arches=(*one.sass, *one.ptx),
        pythons=found.pythons or before.pythons,
        tags=found.tags,
        glibc=found.glibc,
        libraries={**before.libraries, **pins},
        lacks=lacks,
        published=True,
        yanked=found.yanked,
        evidence=Evidence("measured", link.file + digest, before.evidence.twin),
    )
