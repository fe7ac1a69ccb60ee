"""Read the live indexes into the cache: builds that the shipped table does not know, read by ranges.

The wheel host and your own index (pip's and uv's settings name it) are read; where one of them does not answer, the
other is enough. What your own index holds is picked with `--backend default`.

Only builds for this platform are read; the rest are listed, and never picked until they are read. With REQ
or --backend known builds are read too, so that their rows become measured.

examples:
  torchpick refresh                                 what is new
  torchpick refresh --channel nightly               the newest nightly of each backend
  torchpick refresh torch==2.14.1 --backend cu126   read that one, whatever the table says
  torchpick refresh --backend default               your own index alone
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.text import plain
from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import InstallerError, NetworkError, TorchpickError, UsageError
from torchpick.index import index_places
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.locations import cache_dir
from torchpick.model import envelope
from torchpick.model.build import BUILD_NAMES, DEFAULT_INDEX, Build, BuildKey, backend_order
from torchpick.model.fields import written
from torchpick.model.machine import PLATFORMS
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.request import CHANNELS, Request
from torchpick.model.versions import admits, named
from torchpick.session import Session
from torchpick.wheels import refresh
from torchpick.wheels.listed import ListedBuild
from torchpick.wheels.refresh import Refreshed, RefreshJob

HOST, OWN = "the wheel host", "your own index"


class RefreshArguments(Arguments):
    platforms: list[str] | None


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--platform",
        action="append",
        dest="platforms",
        metavar="NAME|all",
        help=f"read builds for these platforms (this one): {', '.join(PLATFORMS)}",
    )
    parser.add_argument(
        "--backend", action="append", metavar="TAG", help="read builds of this backend; repeat for more"
    )
    parser.add_argument("--channel", choices=CHANNELS, default="stable", help="the channel whose index is read")
    parser.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host; flat+URL for one flat page")
    arguments.add_output_flags(parser)


class IndexToRead(Noun):
    """One index to read, and the shipped rows that what is there is compared with."""

    what: str
    job: RefreshJob
    known: dict[BuildKey, Build]


def run(args: RefreshArguments) -> int:
    plans = _plans(args)
    if os.environ.get("TORCHPICK_OFFLINE"):
        pages = ", ".join(redacted(url) for plan in plans for url in plan.job.pages[0])
        raise NetworkError(f"refresh would read {pages}", hint="unset TORCHPICK_OFFLINE")
    progress = console.progress(args)
    reports: dict[str, Refreshed] = {}
    errors: dict[str, TorchpickError] = {}
    with progress.during("refresh"):
        for plan in plans:
            try:
                reports[plan.what] = refresh.run(plan.job, plan.known, progress)
            except TorchpickError as error:
                errors[plan.what] = error
    if not reports:
        raise next(iter(errors.values()))
    notes = [f"{what} could not be read, only {next(iter(reports))}: {error}" for what, error in errors.items()]
    report = refresh.together(reports.values())
    status = 1 if report.failures else 0
    if args.json:
        print(envelope.dumps(_json(report, notes, status)))
    else:
        print(_page(report))
        console.notes(args, *notes)
        for failure in report.failures:
            print(plain(f"error: {failure.build.sample.file}: {failure.error}"), file=sys.stderr)
    return status


def _plans(args: RefreshArguments) -> list[IndexToRead]:
    """The wheel host and the user's own index, as far as they are asked for."""
    request = Request(requirements=tuple(args.requirements), backends=tuple(args.backend or ()), channel=args.channel)
    wish = Session(request._replace(index_base=args.index_base)).wish
    if any(named(text) != "torch" for text in args.requirements):
        raise UsageError("refresh reads only torch", hint='such as `torchpick refresh "torch==2.14.1"`')
    is_named = bool(args.requirements or args.backend)
    admitted = admits(wish.torch, prereleases=args.channel != "stable")
    platforms = _platforms(args.platforms)

    def reads(found: ListedBuild) -> bool:
        if found.platform not in platforms or (wish.backends and found.backend not in wish.backends):
            return False
        return not wish.torch or admitted(found.torch)

    def plan(what: str, base: str, channel: str, pages: tuple[tuple[str, ...], ...]) -> IndexToRead:
        today = time.strftime("%Y-%m-%d", time.gmtime(console.today() * 86400))
        job = RefreshJob(Path(cache_dir(os.environ)), base, channel, pages, reads, is_named, today)
        return IndexToRead(what, job, _shipped(default_index=channel == DEFAULT_INDEX))

    plans = []
    if set(wish.backends) != {DEFAULT_INDEX}:
        backends = sorted({build.backend for build in _shipped(default_index=False).values()}, key=backend_order)
        pages = refresh.page_urls(wish.index_base, args.channel, backends)
        plans.append(plan(HOST, wish.index_base, args.channel, pages))
    if args.channel == "stable" and (not wish.backends or DEFAULT_INDEX in wish.backends):
        with suppress(InstallerError):
            own = index_places.of_user(os.environ)
            if own.base is not None:
                plans.append(plan(OWN, own.base, DEFAULT_INDEX, own.pages("torch")))
    if not plans:
        raise UsageError("no package index of yours is known", hint="name it: `export PIP_INDEX_URL=https://…/simple`")
    return plans


def _shipped(*, default_index: bool) -> dict[BuildKey, Build]:
    """The shipped table alone: what earlier refreshes wrote is compared with it."""
    return {build.key: build for build in Knowledge(os.environ).shipped(default_index=default_index)}


def _platforms(told: list[str] | None) -> tuple[str, ...]:
    if told is None:
        told = [os.environ.get("TORCHPICK_PLATFORM") or interpreter.own(World.here()).platform.name]
    if "all" in told:
        return PLATFORMS
    for name in told:
        if name not in PLATFORMS:
            raise UsageError(f"`{name}` is not a platform of PyTorch's builds", hint=f"one of {', '.join(PLATFORMS)}")
    return tuple(told)


def _row(build: Build) -> dict[str, object]:
    return written(build, *BUILD_NAMES, "arches", "pythons", "evidence")


def _json(report: Refreshed, notes: Iterable[str], status: int) -> dict[str, object]:
    return envelope.new(
        "refresh",
        status="error" if status else "ok",
        exit_status=status,
        pages=[{"url": redacted(page.url)} for page in report.pages],
        added=[_row(build) for build in report.added],
        read=[_row(build) for build in report.read],
        unread=[
            {"version": each.version, "platform": each.platform, "file": each.sample.file} for each in report.unread
        ],
        notes=[{"code": "INDEX_NOT_READ", "text": text} for text in notes],
        failures=[{"file": found.sample.file, "text": str(error)} for found, error in report.failures],
        bytes_read=report.bytes_read,
        requests=report.requests,
    )


def _page(report: Refreshed) -> str:
    """What changed, as text."""
    lines = [
        f"{word:<8}  {build.version:<20} {build.platform:<15} {_arches(build)}"
        for word, builds in (("new", report.added), ("read", report.read))
        for build in builds
    ]
    if report.unread:
        lines.append(f"unread    {len(report.unread)} builds, never picked until they are read")
    shown = [f"  {plain(line)}" for line in lines] or ["nothing new"]
    return "\n".join([*shown, f"read {report.bytes_read / 1e6:.1f} MB in {report.requests} requests"])


def _arches(build: Build) -> str:
    if build.arches is None:
        return "not read yet"
    return " ".join(str(arch) for arch in build.arches) or "no GPU code"
