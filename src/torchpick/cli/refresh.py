"""Read the live indexes into the cache: builds that the shipped table does not know, read by ranges."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import start_progress
from torchpick.cli.text import plain
from torchpick.errors import InstallerError, NetworkError, TorchpickError, UsageError, WheelError
from torchpick.index import index_places
from torchpick.install.question import read_wish
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import is_wheel_host, redacted
from torchpick.model.build import BUILD_NAMES, DEFAULT_INDEX, Build, BuildKey, backend_order
from torchpick.model.fields import dumps, envelope, written
from torchpick.model.pick import Request
from torchpick.model.versions import admits, named, some_of
from torchpick.run import start_run
from torchpick.wheels import refresh
from torchpick.wheels.refresh import CacheStore, Refreshed, RefreshJob

HOST, OWN = "the wheel host", "your own index"
_MOST_GONE = 4


# An index to read, and the shipped rows that what is there is compared with.
Read = tuple[RefreshJob, dict[BuildKey, Build]]


def run(args: Arguments) -> int:
    plans = _plans(args)
    if os.environ.get("TORCHPICK_OFFLINE"):
        bases = ", ".join(redacted(job.store.base) for job, _ in plans.values())
        raise NetworkError(f"refresh would read {bases}", hint="unset TORCHPICK_OFFLINE")
    progress = start_progress(args)
    reports: dict[str, Refreshed] = {}
    errors: dict[str, TorchpickError] = {}
    with progress.during("refresh"):
        for what, (job, known) in plans.items():
            try:
                reports[what] = refresh.refresh_table(job, known, progress)
            except (InstallerError, NetworkError, WheelError) as error:  # of the index; not that nothing can be kept
                errors[what] = error
    if not reports:
        raise next(iter(errors.values()))
    notes = [f"{what} could not be read, only {next(iter(reports))}: {error}" for what, error in errors.items()]
    report = refresh.add_up(reports.values())
    notes += report.notes
    notes += [f"{redacted(old)} leads to {redacted(new)}, where pip and uv follow" for old, new in report.moved]
    status = 1 if report.failures or (errors and args.index_base) else 0
    if args.json:
        print(dumps(_json(report, notes, status)))
    else:
        print(_page(report))
        console.notes(args, *notes)
        for (_, sample), why in report.failures:
            console.message(plain(f"error: {sample.file}: {why}"))
    return status


def _plans(args: Arguments) -> dict[str, Read]:
    """The wheel host and the user's own index, as far as they are asked for."""
    request = Request(tuple(args.words), backends=tuple(args.backend), channel=args.channel, index_base=args.index_base)
    wish = read_wish(start_run(request))
    if any(named(text) != "torch" for text in args.words):
        raise UsageError("refresh reads only torch", hint='such as `torchpick refresh "torch==2.14.1"`')
    is_named = bool(args.words or args.backend)
    admitted = admits(wish.torch, prereleases=args.channel != "stable")
    platform = console.platform_named(args.platform)

    def reads(build: Build) -> bool:
        if build.platform != platform or (wish.backends and build.backend not in wish.backends):
            return False
        return not wish.torch or admitted(build.torch)

    def plan(base: str, channel: str, places: tuple[index_places.IndexPlaces, ...]) -> Read:
        store = CacheStore(Path(cache_dir(os.environ)), base, channel, console.day())
        # A company's mirror stands for the wheel host alone.
        of_table = channel == "stable" and is_wheel_host(base)
        job = RefreshJob(store, places, reads, is_named, of_table, refresh.MOST_WHEELS)
        return job, _shipped(default_index=channel == DEFAULT_INDEX)

    plans: dict[str, Read] = {}
    if set(wish.backends) != {DEFAULT_INDEX}:
        backends = sorted({build.backend for build in _shipped(default_index=False).values()}, key=backend_order)
        places = refresh.places(wish.index_base, args.channel, backends)
        plans[HOST] = plan(wish.index_base, args.channel, places)
    if args.channel == "stable" and (not wish.backends or DEFAULT_INDEX in wish.backends):
        with suppress(InstallerError):
            own = index_places.of_user(os.environ)
            if own.base is not None:
                plans[OWN] = plan(own.base, DEFAULT_INDEX, (own,))
    if not plans:
        raise UsageError("no package index of yours is known", hint="name it: `export PIP_INDEX_URL=https://…/simple`")
    return plans


def _shipped(*, default_index: bool) -> dict[BuildKey, Build]:
    """The shipped table alone: what earlier refreshes wrote is compared with it."""
    return {build.key: build for build in Knowledge(os.environ).shipped(default_index=default_index)}


def _row(build: Build) -> dict[str, object]:
    return written(build, *BUILD_NAMES, "arches", "pythons", "evidence")


def _json(report: Refreshed, notes: Iterable[str], status: int) -> dict[str, object]:
    return envelope(
        "refresh",
        status,
        added=[_row(build) for build in report.added],
        read=[_row(build) for build in report.read],
        gone=[written(build, *BUILD_NAMES) for build in report.gone],
        contradictions=list(report.contradictions),
        unread=[{**written(build, "version", "platform"), "file": sample.file} for build, sample in report.unread],
        notes=[{"code": "INDEX_NOT_READ", "text": text} for text in notes],
        failures=[{"file": sample.file, "text": str(error)} for (_, sample), error in report.failures],
        bytes_read=report.bytes_read,
        requests=report.requests,
    )


def _page(report: Refreshed) -> str:
    lines = [
        f"{word:<8}  {build.version:<20} {build.platform:<15} {_arches(build)}"
        for word, builds in (("new", report.added), ("read", report.read))
        for build in builds
    ]
    if report.unread:
        lines.append(f"unread    {len(report.unread)} builds, never picked until they are read")
    if report.gone:
        names = [f"{build.version} {build.platform}" for build in report.gone]
        lines.append(f"gone      {some_of(names, _MOST_GONE)}: in the table, and not on the index")
    lines += [f"differs   {text}" for text in report.contradictions]
    shown = [f"  {plain(line)}" for line in lines] or ["nothing new"]
    return "\n".join([*shown, f"read {report.bytes_read / 1e6:.1f} MB in {report.requests} requests"])


def _arches(build: Build) -> str:
    if build.arches is None:
        return "not read yet"
    return " ".join(str(arch) for arch in build.arches) or "no GPU code"
