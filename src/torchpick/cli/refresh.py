"""Read the live index into the cache: builds that the shipped table does not know, read by ranges.

Only builds for this platform are read; the rest are listed, and never picked before somebody reads them. REQ and
--backend read known builds too, which makes their rows measured.

examples:
  torchpick refresh                                 what is new
  torchpick refresh --channel nightly               the newest nightly of each backend
  torchpick refresh torch==2.14.1 --backend cu126   read that one, whatever the table says
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from torchpick import question, shipped
from torchpick.cli import arguments
from torchpick.cli.arguments import Asked
from torchpick.cli.inspected import Progress
from torchpick.detection import interpreter
from torchpick.detection.world import World
from torchpick.emit.text import plain
from torchpick.errors import NetworkError, UsageError
from torchpick.model import envelope
from torchpick.model.build import Build, backend_order
from torchpick.model.machine import PLATFORMS
from torchpick.model.specifiers import admits
from torchpick.model.wish import CHANNELS, WHEEL_HOST
from torchpick.places import cache_dir
from torchpick.request import Request
from torchpick.wheels import refresh, web
from torchpick.wheels.live import Found
from torchpick.wheels.refresh import Job, Report, Talk


class Refresh(Asked):
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
    parser.add_argument("--channel", choices=CHANNELS, default="stable", help="whose index is read")
    parser.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host; flat+URL for one flat page")
    parser.add_argument("--offline", action="store_true", help="say what would be read, and read nothing")
    arguments.add_output_flags(parser)


def run(args: Refresh) -> int:
    known = _shipped()
    job = _job(args, known)
    if args.offline or os.environ.get("TORCHPICK_OFFLINE"):
        pages = ", ".join(web.redacted(url) for url in next(refresh.page_urls(job)))
        waiting = sum(build.arches is None for _, build in refresh.cached(job.cache, job.channel))
        raise NetworkError(
            f"refresh would read {pages}, and of each new build some 7 MB; {waiting} builds wait to be read",
            hint="leave out `--offline`",
        )
    progress = Progress(sys.stderr, "refresh", quiet=args.quiet or args.json)
    silent = args.quiet or args.json
    try:
        report = refresh.run(job, known, Talk((lambda _: None) if silent else progress.say, progress.add))
    finally:
        progress.clear()
    status = 1 if report.failures else 0
    if args.json:
        print(envelope.dumps(_json(report, status)))
    else:
        print(_page(report))
        for found, error in report.failures:
            print(plain(f"error: {found.sample.file}: {error}"), file=sys.stderr)
    return status


def _shipped() -> dict[refresh.Key, Build]:
    """The shipped table alone: what earlier refreshes wrote is weighed against it."""
    builds = shipped.as_shipped((*PLATFORMS, "linux-s390x"), os.environ)
    return {(build.platform, build.version, build.backend): build for build in builds}


def _job(args: Refresh, known: dict[refresh.Key, Build]) -> Job:
    request = Request(requirements=tuple(args.requirements), backends=tuple(args.backend or ()), channel=args.channel)
    wish = question.wish_of(request._replace(index_base=args.index_base), os.environ)
    if wish.companions or wish.others:
        raise UsageError("refresh reads torch alone", hint='such as `torchpick refresh "torch==2.14.1"`')
    named = bool(args.requirements or args.backend)
    admitted = admits(wish.torch, prereleases=args.channel != "stable")
    platforms = _platforms(args.platforms)

    def reads(found: Found) -> bool:
        if found.platform not in platforms or (wish.backends and found.backend not in wish.backends):
            return False
        return not wish.torch or admitted(found.torch)

    return Job(
        Path(cache_dir(os.environ)),
        wish.index_base,
        args.channel,
        tuple(sorted({build.backend for build in known.values()}, key=backend_order)),
        reads,
        (lambda found: reads(found) and found.backend not in ("cpu", "xpu")) if named else (lambda _: False),
        # A mirror may hold a part.
        whole=wish.index_base == WHEEL_HOST and args.channel == "stable",
    )


def _platforms(told: list[str] | None) -> tuple[str, ...]:
    if told is None:
        told = [os.environ.get("TORCHPICK_PLATFORM") or interpreter.own(World.here()).platform.name]
    if "all" in told:
        return PLATFORMS
    for name in told:
        if name not in PLATFORMS:
            raise UsageError(
                f"`{name}` is no platform that PyTorch is built for", hint=f"one of {', '.join(PLATFORMS)}"
            )
    return tuple(told)


def _row(build: Build) -> dict[str, object]:
    arches = None if build.arches is None else [str(arch) for arch in build.arches]
    facts = {"torch": build.torch, "backend": build.backend, "platform": build.platform, "version": build.version}
    return {**facts, "arches": arches, "pythons": list(build.pythons), "evidence": build.evidence.to_json()}


def _json(report: Report, status: int) -> dict[str, object]:
    return envelope.new(
        "refresh",
        status="error" if status else "ok",
        exit_status=status,
        pages=[{"url": web.redacted(page.url), "changed": page.links is not None} for page in report.pages],
        added=[_row(build) for build in report.added],
        changed=[_row(build) for build in report.changed],
        read=[_row(build) for build in report.read],
        contradictions=[{"text": each.text, "version": each.build.version} for each in report.contradictions],
        gone=[_row(build) for build in report.gone],
        unread=[
            {"version": each.version, "platform": each.platform, "file": each.sample.file} for each in report.unread
        ],
        failures=[{"file": found.sample.file, "text": str(error)} for found, error in report.failures],
        bytes_read=report.bytes_read,
        requests=report.requests,
    )


def _page(report: Report) -> str:
    """What changed, for a person."""
    lines = []
    for words, builds in (("new", report.added), ("changed", report.changed), ("read", report.read)):
        shown = [f"  {words:<8}  {build.version:<20} {build.platform:<15} {_arches(build)}" for build in builds]
        lines += shown[:_MOST] + ([f"            … and {len(shown) - _MOST} more"] if len(shown) > _MOST else [])
    lines += [f"  differs   {each.text}" for each in report.contradictions]
    lines += [f"  gone      {build.version} for {build.platform} is not on the index" for build in report.gone[:_MOST]]
    if len(report.gone) > _MOST:
        lines.append(f"            … and {len(report.gone) - _MOST} more")
    if report.unread:
        lines.append(f"  unread    {len(report.unread)} builds, never picked until they are read")
    lines = lines or ["nothing new"]
    cost = f"{report.bytes_read / 1e6:.1f} MB in {report.requests} requests"
    return "\n".join(map(plain, [*lines, f"read {cost}"]))


_MOST = 40


def _arches(build: Build) -> str:
    if build.arches is None:
        return "not read yet"
    return " ".join(str(arch) for arch in build.arches) or "no GPU code"
