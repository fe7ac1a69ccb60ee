"""Bringing the user's table up to the live index: list it, compare it with what is known, read what is new."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import reduce
from operator import add
from pathlib import Path
from typing import NamedTuple, Protocol

from torchpick.environment import rewrite
from torchpick.errors import TorchpickError, WheelError
from torchpick.index import pages
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import NO_LIMITS, ProjectReader, Web
from torchpick.index.ranges import Archive, open_source
from torchpick.knowledge import locations, refreshed
from torchpick.model.address import redacted
from torchpick.model.arch import Arch
from torchpick.model.build import DEFAULT_INDEX, Build, BuildKey, Evidence
from torchpick.model.fields import ShapeError
from torchpick.model.machine import TABLE_PLATFORMS
from torchpick.model.versions import grouped, normal
from torchpick.wheels import judging, listed, wheelfiles
from torchpick.wheels.listed import CompanionPages, FailedRead, ListedBuild
from torchpick.wheels.readings import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

Table = Mapping[BuildKey, Build]
# So many wheels are read by one run: a release has some thirty builds, and each costs 6 MB.
MOST_WHEELS = 60
# The libraries whose pins the table keeps: a pick is checked against their floors.
# `nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system …` and the newer spelling without brackets.
_PIN = re.compile(r"^Requires-Dist: *((?:nvidia-[a-z0-9-]+|triton)) *\(?==([0-9][0-9A-Za-z.]*)\)?", re.MULTILINE)
_PINNED = {"nvidia-cudnn": "cudnn", "nvidia-nccl": "nccl", "triton": "triton"}


class Store(Protocol):
    """Where rows are kept: the user's cache, or the readable files of the table."""

    base: str
    channel: str

    def rows(self) -> dict[BuildKey, Build]: ...
    def write(self, platforms: Iterable[str], rows: Table, listed: Iterable[BuildKey]) -> None: ...


class CacheStore:
    """The user's cache, where what was read of an index lies over the shipped table, which is then of `today`."""

    def __init__(self, folder: Path, base: str, channel: str, today: str | None = None) -> None:
        self.folder, self.base, self.channel, self.today = folder, base, channel, today

    def rows(self) -> dict[BuildKey, Build]:
        """Those of earlier refreshes from this base; a file that is not ours any more is ignored."""
        rows: dict[BuildKey, Build] = {}
        for platform in TABLE_PLATFORMS:
            with suppress(ShapeError):
                rows |= {build.key: build for build in refreshed.read(rewrite.read_json(self.file(platform)))[0]}
        return rows

    def file(self, platform: str) -> Path:
        return Path(locations.table_file(str(self.folder), self.base, self.channel, platform))

    def write(self, platforms: Iterable[str], rows: Table, listed: Iterable[BuildKey]) -> None:
        """The rows of these platforms, and what the index lists for each."""
        listed = tuple(listed)
        for platform in platforms:
            builds = [row for (where, *_), row in rows.items() if where == platform]
            names = sorted(f"{version} {backend}" for where, version, backend in listed if where == platform)
            value = {**refreshed.index(platform, builds), "date": self.today, "listed": names}
            rewrite.write_json(self.file(platform), value)


class RefreshJob(NamedTuple):
    """What is to be refreshed, and where it is kept; the channel of the user's own index is `default`.

    `reads` says of which builds the wheels are read; `forced`: known ones too. `of_table`: it is the index that the
    table is about, so that vendors' are looked at as well, and what it lacks of the table is gone. `most` bounds the
    wheels of one run; the rest are read by the next.
    """

    store: Store
    places: tuple[IndexPlaces, ...]  # the likeliest first: the first that knows torch is taken
    reads: Callable[[Build], bool]
    forced: bool
    of_table: bool
    most: int


class Refreshed(NamedTuple):
    """What a refresh did.

    `gone` are builds of the table that the index has no longer, `contradictions` say where a wheel is not what was
    declared of it, `notes` which vendors' indexes could not be read, `moved` from where to where one leads.
    """

    added: tuple[Build, ...]
    read: tuple[Build, ...]
    gone: tuple[Build, ...]
    unread: tuple[ListedBuild, ...]
    contradictions: tuple[str, ...]
    notes: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]
    failures: tuple[FailedRead, ...]
    bytes_read: int
    requests: int


def refresh_table(job: RefreshJob, shipped: Table, report: Report) -> Refreshed:
    """Refresh; whatever is read is kept at once, so a run that is cut short loses one wheel."""
    with closing(Web(os.environ, NO_LIMITS)) as web:
        return _Run(job, shipped, report, web).work()


def add_up(reports: Iterable[Refreshed]) -> Refreshed:
    return Refreshed(*(reduce(add, parts) for parts in zip(*reports, strict=True)))


class _Run:
    def __init__(self, job: RefreshJob, shipped: Table, report: Report, web: Web) -> None:
        self.job, self.shipped, self.report, self.web = job, shipped, report, web
        self.rows: dict[BuildKey, Build] = {}
        self.listed: set[BuildKey] = set()
        self.contradictions: list[str] = []
        self.notes: list[str] = []
        self.moved: list[tuple[str, str]] = []
        # By the vendor's address, None for the index itself: where the companions of a build are looked for.
        self.indexes: dict[str | None, ProjectReader] = {}

    def work(self) -> Refreshed:
        before = self.job.store.rows()
        builds = (*self._builds(), *self._of_vendors())
        self.listed = {build.key for build, _ in builds}
        self.rows = {key: row for key, row in before.items() if key in self.listed and _is_needed(row, self.shipped)}
        refused = listed.with_another_hash(builds, (*self.shipped.values(), *before.values()))
        builds = tuple((build, sample) for build, sample in builds if build.key not in refused)
        unread, differing = listed.compare_builds(builds, {**self.shipped, **self.rows})
        # Rows of earlier runs that had no companions yet are looked at again.
        changed = {key: row for key, row in self.rows.items() if not row.companions}
        changed.update({row.key: row for row in differing})
        pages = {url: CompanionPages(index) for url, index in self.indexes.items()}
        for row in changed.values():
            as_it_is = row.companions or row.family == "xpu" or self.job.store.channel in listed.DATED
            self.rows[row.key] = row if as_it_is else pages[row.vendor and row.vendor.url].paired(row)
        self._write(TABLE_PLATFORMS)
        # One that is named is read although the table knows it, where there is GPU code to read.
        forced = [(build, sample) for build, sample in builds if self.job.forced and build.arches is None]
        todo = [(build, sample) for build, sample in forced or unread if self.job.reads(build)][: self.job.most]
        read, failures = self._read(todo)
        done = {row.key for row in read}
        return Refreshed(
            tuple(self.rows[row.key] for row in differing if row.key not in self.shipped),
            read,
            tuple(self._gone(before)),
            tuple((build, sample) for build, sample in unread if build.key not in done),
            tuple(self.contradictions),
            tuple(self.notes),
            tuple(self.moved),
            (*refused.values(), *failures),
            self.web.client.bytes_read,
            self.web.client.requests,
        )

    def _builds(self) -> tuple[ListedBuild, ...]:
        self.report(f"reading {redacted(self.job.store.base)}")
        for places in self.job.places:
            index = self._index(places)
            if (links := index.wheels("torch")) is not None:
                self.indexes[None] = index
                return listed.list_builds(links, self.job.store.channel)
        hint = "specify the index with `--index-base URL`"
        if self.job.store.channel == DEFAULT_INDEX:
            hint = "pip's and uv's settings say which index is yours"
        raise WheelError(f"{redacted(self.job.store.base)} has no page for torch", hint=hint)

    def _index(self, places: IndexPlaces) -> ProjectReader:
        return ProjectReader(places, os.environ, anew=True, web=self.web)

    def _of_vendors(self) -> Iterator[ListedBuild]:
        """What vendors have on indexes of their own for the platforms that are read; one that fails is a note."""
        rows = [row for row in self.shipped.values() if self.job.of_table and row.vendor and self.job.reads(row)]
        for (vendor, url, option), of_vendor in grouped((row.vendor[:3], row) for row in rows if row.vendor).items():
            flat = option == "--find-links"
            page = url if flat else f"{url}/torch/"
            self.report(f"reading {page}")
            try:
                reply = self.web.client.get(page, {"accept": pages.ACCEPT}, absent=True)
                kind = reply.headers.get("content-type", "")
                links = pages.files(reply.body, reply.url, kind) if reply.status == 200 else ()
            except TorchpickError as error:
                self.notes.append(f"{vendor}'s index could not be read: {error}")
                continue
            if not links:
                self.notes.append(f"{vendor}'s index has no files of torch any more: {page}")
                continue
            if reply.url != page:
                self.moved.append((url, reply.url.rstrip("/").removesuffix("/torch")))
            self.indexes[url] = self._index(IndexPlaces((), (url,)) if flat else IndexPlaces((url,)))
            yield from listed.list_vendor(links, of_vendor)

    def _gone(self, before: Table) -> Iterator[Build]:
        """The builds that were known to be on an index that was read, and are no longer."""
        known = {**(self.shipped if self.job.of_table else {}), **before}
        for key, row in known.items() if self.job.store.channel not in listed.DATED else ():
            if row.published and key not in self.listed and (row.vendor and row.vendor.url) in self.indexes:
                yield row

    def _read(self, todo: list[ListedBuild]) -> tuple[tuple[Build, ...], tuple[FailedRead, ...]]:
        """The rows of what could be read, and the rest; each is kept as soon as it is read."""
        read: list[Build] = []
        failures: list[FailedRead] = []
        for number, (build, sample) in enumerate(todo, 1):
            self.report(f"{number} of {len(todo)}: {sample.file}")
            key = build.key
            try:
                with open_source(sample.url, lambda: self.web.client, self.report) as source:
                    reading = wheelfiles.read_release(Archive(source), sample)
            except TorchpickError as error:
                failures.append(((build, sample), error))
                continue
            before = self.rows.get(key) or self.shipped[key]
            row = self.rows[key] = measured_row(sample, reading, before)
            if before.arches is not None and {*before.arches} != {*(row.arches or ())}:
                declared, found = (" ".join(map(str, arches or ())) for arches in (before.arches, row.arches))
                text = f"{row.version} on {row.platform}: {declared} by {before.evidence.ref}; its wheel has {found}"
                self.contradictions.append(text)
            self._write({build.platform})
            read.append(row)
        return tuple(read), tuple(failures)

    def _write(self, platforms: Iterable[str]) -> None:
        self.job.store.write(platforms, self.rows, self.listed)


def places(base: str, channel: str, backends: Iterable[str]) -> tuple[IndexPlaces, ...]:
    """The wheel host's pages, the likeliest first: those of everything, else those of each backend."""
    if base.startswith("flat+"):
        return (IndexPlaces((), (base.removeprefix("flat+"),)),)
    root = base.rstrip("/") + ("" if channel == "stable" else f"/{channel}")
    return IndexPlaces((root,)), IndexPlaces(tuple(f"{root}/{backend}" for backend in backends))


def _is_needed(row: Build, shipped: Table) -> bool:
    """Whether an earlier run read it itself, or listed what the table still lacks; the rest is made anew."""
    ours = shipped.get(row.key)
    return ours is None or (row.evidence.kind == "measured" and ours.evidence.kind != "measured")


def measured_row(link: ProjectFile, reading: Reading, before: Build) -> Build:
    """The row of a wheel that was read; companions and what no wheel contains stay as they were."""
    # CPU builds of other platforms carry Linux's libraries behind a condition.
    pinned = _PIN.findall(reading.metadata or "") if reading.torch and reading.torch.cuda else ()
    required = {
        name: version
        for project, version in pinned
        for prefix, name in _PINNED.items()
        if normal(project).startswith(prefix)
    }
    digest = f" sha256:{link.sha256}" if link.sha256 else ""
    return before._replace(
        cuda=reading.torch and reading.torch.cuda,
        arches=(*reading.sass, *reading.ptx),
        libraries={**before.libraries, **required},
        lacks=_missing(reading),
        evidence=Evidence("measured", link.file + digest, before.evidence.twin),
    )


def _missing(reading: Reading) -> dict[str, tuple[Arch, ...]]:
    """Library → the architectures that a torch's flags name and that it does not support, or hardly supports."""
    judge = judging.GpuCodeFit(Arch.of_capability(0, 0), unified=reading.is_unified)
    missing = {}
    for library in reading.libraries:
        verdicts = [(arch, judging.judge_library(library, judge._replace(gpu=arch))) for arch in reading.sass]
        if failing := tuple(arch for arch, verdict in verdicts if verdict and verdict.fails):
            missing[library.path.rpartition("/")[2]] = failing
    return missing
