"""Detect many machines and pick a build for each group of them."""

from __future__ import annotations

import os
import time

from torchpick.cli import arguments, console
from torchpick.cli import fleetpage as shown
from torchpick.cli.arguments import Arguments
from torchpick.cluster import emit, sources
from torchpick.cluster.engine import ClusterError, Engine
from torchpick.decide import refusal, several
from torchpick.decide.several import Outlook
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, NoBuildError, TorchpickError, UsageError
from torchpick.install.question import answer_request, read_wish
from torchpick.machine import machinefiles
from torchpick.model.address import redacted
from torchpick.model.fields import envelope
from torchpick.model.fleet import Fleet
from torchpick.model.pick import Pick, Request, Wish, machines_of
from torchpick.run import Run, start_run


def run(args: Arguments) -> int:
    if bool(args.emit) != bool(args.out):
        raise UsageError("`--emit` and `--out` must be used together", hint="`--emit slurm --out site`")
    if args.run != bool(args.image):
        message = "`--run` and `--image` must be used together"
        raise UsageError(message, hint="`torchpick fleet kubernetes --run --image IMAGE`, which has torchpick")
    many = args.max_environments
    most = None if many is None else arguments.number("--max-environments", many, 999)
    bounds = [word for word in args.words if word.startswith("torch") and ":" not in word and not os.path.exists(word)]
    places = [word for word in args.words if word not in bounds]
    if not places:
        raise UsageError(
            "no machines were specified", hint="`torchpick fleet slurm`, or a file; `torchpick fleet --help`"
        )
    request = Request(tuple(bounds), machine=(), driver=args.driver, python=args.python, strict=args.strict)
    run = start_run(arguments.with_wish(request, args), report=console.waiting)
    wish = read_wish(run)
    asked = _asked(args, places, run)
    fleet = machinefiles.prepare(asked, run.knowledge.rules.drivers, wish, strict=args.strict)
    table = run.read_table(fleet.machines)
    found = several.outlook(fleet, table, wish, most=most, upgrades=args.upgrades)
    refused = _refusal(found, run, most) if found.unserved else None
    _say(args, found, wish, refused, table.date)
    return 0 if refused is None else 3


def _asked(args: Arguments, places: list[str], run: Run) -> Fleet:
    """Every source into one fleet; a cluster that gives nothing is left out as a machine is."""
    limit_s, options = arguments.number("--timeout", args.timeout, 86_400), tuple(args.passed_on)
    for where in places:
        sources.check_source(where, options, args.image)
    reader = machinefiles.Reader(run.request, run.knowledge)
    for where in places:
        try:
            until = time.monotonic() + limit_s
            sources.read_source(where, Engine(args.program, args.image, options, reader, run.environ, until))
        except ClusterError as error:
            reader.silent(error.code, error.message, error.hint or "", "")
    try:
        return machinefiles.check_fleet(reader.fleet(), machinefiles.name_sources(places), strict=args.strict)
    except DetectionError as error:
        if args.strict or not any(sources.split_source(where)[0] for where in places):
            raise
        # The cluster was reached, and none of its machines answered.
        raise ClusterError(error.message, hint=error.hint, code=error.code) from error


def _refusal(found: Outlook, run: Run, most: int | None) -> TorchpickError:
    """Why machines are left without an environment. UsageError for a request that no machine can answer."""
    left = machines_of(found.unserved)
    try:
        pick = _weighed(left, found.fleet, run)
        if most is not None and not pick.ok and pick.plan and pick.unserved:
            # Some have a build, and only no room: what is said is about the others.
            pick = _weighed(sorted({left[place] for place, _ in pick.unserved}), found.fleet, run)
    except UsageError as error:
        if not found.groups:
            raise
        return error
    if pick.ok or not pick.unserved:
        who = shown.counted("machine", found.fleet.hosts(left).count)
        message = f"`--max-environments {most}` leaves no environment for {who}"
        return NoBuildError(message, pick=pick, hint="allow more, or run without `--max-environments`")
    why, remedy = refusal.explain_no_build(pick, run.knowledge.rules)
    return NoBuildError(why, pick=pick, hint=remedy)


def _weighed(places: list[int], fleet: Fleet, run: Run) -> Pick:
    """The pick for these machines of the fleet alone."""
    crowds = tuple(fleet.crowds[place] for place in places)
    pick = answer_request(run, machines=tuple(crowd.machine for crowd in crowds)).pick
    return pick._replace(fleet=Fleet(crowds))


def _say(args: Arguments, found: Outlook, wish: Wish, refused: TorchpickError | None, date: str | None) -> None:
    environments = tuple(shown.environment(group, found.fleet, wish) for group in found.groups)
    written = _write(args, found, environments)
    if args.json:
        facts = shown.as_json(found, wish, environments)
        if refused is not None:
            facts["error"] = refused
        print(console.dated(envelope("fleet", 0 if refused is None else 3, files=written, **facts), date))
        return
    print("\n".join(written) if written else shown.text(found, environments, console.painter()))
    own = found.fleet.notes if written else found.fleet.own_notes  # the text names who is left out
    console.notes(args, *own, *found.notes, *shown.remarks(wish))
    if refused is not None:
        console.error(refused)


def _write(args: Arguments, found: Outlook, environments: tuple[emit.SiteEnvironment, ...]) -> list[str]:
    """Write the page and the files of --emit; their names."""
    unnamed = sum(each.hosts.unnamed for each in environments)
    if args.emit and unnamed:
        hint = "write the host's name before its line, as `n1: {…}`, or name its file n1.json and pass the folder"
        raise UsageError(
            f"`--emit` writes hosts, and {shown.counted('machine', unnamed)} came without a name", hint=hint
        )
    texts = {} if args.html is None else {args.html: shown.html(found, environments)}
    for form in args.emit:
        texts |= {os.path.join(str(args.out), name): text for name, text in emit.FORMS[form](environments).items()}
    if args.out is not None:
        rewrite.folder(args.out)
    for file, text in texts.items():
        rewrite.put(file, text)
    return [redacted(file) for file in texts]
