"""Detect many machines and pick a build for each group of them.

SOURCE is slurm[:PARTITION], kubernetes[:CONTEXT], ray[:ADDRESS], ssh:HOSTFILE, a folder of `detect --into`, a file of
machines, or `-`; several are one fleet. What follows `--` is for srun, kubectl or ssh. Machines that are down, silent
or without a GPU are listed with the cause, and the rest get their picks. The exit status is 3 if a GPU is left that no
environment supports, and 1 if nothing answered.

examples:
  torchpick fleet slurm
  torchpick fleet slurm:gpu -- --gres=gpu:1 --account=x
  torchpick fleet kubernetes:prod --python 3.12 --driver 535 --html fleet.html
  torchpick fleet ssh:hosts.txt --max-environments 2 --upgrades
  torchpick fleet nodes/ --emit slurm --out site
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick.cli import arguments, console, parsing
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import fleet as shown
from torchpick.cli.show.text import plain
from torchpick.cluster import emit, sources
from torchpick.cluster.emit import SiteEnvironment
from torchpick.cluster.engine import Asking, ClusterError
from torchpick.decide import frontier, refusal
from torchpick.decide.frontier import Outlook
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, NoBuildError, TorchpickError, UsageError
from torchpick.machine import machinefiles
from torchpick.model import envelope
from torchpick.model.fleet import Fleet
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted
from torchpick.model.request import Request, Wish
from torchpick.session import Session

PASSES_ON = True


class FleetArguments(Arguments):
    places: list[str]
    max_environments: int | None
    upgrades: bool
    run: bool
    image: str | None
    program: str
    timeout: int
    html: str | None
    emit: list[str] | None
    out: str | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] SOURCE [SOURCE …] [REQ …]"
    parser.add_argument(
        "places",
        nargs="+",
        metavar="SOURCE",
        help="where the machines are; `torch<2.12` after it narrows the selection",
    )
    group = parser.add_argument_group("the groups")
    group.add_argument(
        "--max-environments",
        type=parsing.count(999),
        metavar="N",
        help="the newest torch with at most so many environments",
    )
    group.add_argument("--upgrades", action="store_true", help="also what newer drivers would gain")
    group.add_argument("--strict", action="store_true", help="fail if one has no GPU or does not answer")
    group.add_argument("--html", metavar="FILE", help="write the groups as one self-contained page")
    group.add_argument(
        "--emit", action="append", choices=emit.FORMS, help="write the groups for this program, into --out; repeat"
    )
    group.add_argument("--out", metavar="DIR", help="where --emit writes")
    group = parser.add_argument_group("how they are detected")
    group.add_argument(
        "--program", default="torchpick", metavar="CMD", help="the command that runs torchpick there (torchpick)"
    )
    group.add_argument(
        "--timeout", type=parsing.count(86_400), default=60, metavar="SECONDS", help="for the whole fleet (60)"
    )
    group.add_argument("--run", action="store_true", help="kubernetes: a Job on each GPU node, deleted afterwards")
    group.add_argument("--image", help="the image of these Jobs, with torchpick in it")
    group.add_argument("--driver", metavar="VERSION", help="the driver of machines that do not name theirs")
    group.add_argument("--python", metavar="X.Y", help="the Python of the environments, such as 3.12")
    arguments.add_wish_flags(parser)
    arguments.add_output_flags(parser)


def run(args: FleetArguments) -> int:
    if bool(args.emit) != bool(args.out):
        raise UsageError("`--emit` and `--out` must be used together", hint="`--emit slurm --out site`")
    arguments.check_file("--html", args.html, "--html fleet.html")
    places = [word for word in args.places if not _is_requirement(word)]
    if not places:
        raise UsageError(
            "no machines were specified", hint="`torchpick fleet slurm`, or a file; `torchpick fleet --help`"
        )
    session = Session(_request(args), report=console.waiting)
    wish = session.wish
    asked = _asked(args, places, session)
    fleet = machinefiles.prepared(asked, session.knowledge.rules.drivers, wish, strict=args.strict)
    found = frontier.outlook(
        fleet, session.table_of(fleet.machines), wish, most=args.max_environments, upgrades=args.upgrades
    )
    refused = _refusal(found, session, args.max_environments) if found.unserved else None
    _say(args, found, wish, refused)
    return 0 if refused is None else 3


def _is_requirement(word: str) -> bool:
    return word.startswith("torch") and word.partition(":")[0] == word and not os.path.exists(word)


def _request(args: FleetArguments) -> Request:
    requirements = tuple(word for word in args.places if _is_requirement(word))
    request = Request(requirements=requirements, driver=args.driver, python=args.python, strict=args.strict)
    return arguments.with_wish(request, args)


def _asked(args: FleetArguments, places: list[str], session: Session) -> Fleet:
    """Every source into one fleet; one that gives nothing is an error only if no other does."""
    asking = Asking(args.program, args.timeout, args.run, args.image, tuple(args.passed_on))
    for where in places:
        sources.check(where, asking)
    reader = machinefiles.reader(session.request, session.knowledge)
    failures: list[tuple[str, ClusterError]] = []
    for where in places:
        try:
            sources.read(where, reader, asking, session.environ)
        except ClusterError as error:
            if args.strict:
                raise
            failures.append((where, error))
    fleet = reader.fleet()
    failure = failures.pop()[1] if failures and not fleet.crowds else None
    for where, each in failures:
        print(f"warning: {where}: {plain(each.message)}; {plain(each.hint or '')}", file=sys.stderr)
    if failure is not None:
        raise failure
    try:
        return machinefiles.checked(fleet, machinefiles.names(places), strict=args.strict)
    except DetectionError as error:
        if args.strict or not any(sources.is_engine(where) for where in places):
            raise
        # The cluster was reached, and none of its machines answered.
        raise ClusterError(error.message, hint=error.hint, code=error.code) from error


def _refusal(found: Outlook, session: Session, most: int | None) -> TorchpickError:
    """Why machines are left without an environment. UsageError for a request that no machine can answer."""
    left = sorted({machine for machine, _ in found.unserved})
    try:
        pick = _weighed(left, found.fleet, session)
        if most is not None and not pick.ok and pick.plan and pick.unserved:
            # Some have a build, and only no room: what is said is about the others.
            pick = _weighed(sorted({left[place] for place, _ in pick.unserved}), found.fleet, session)
    except UsageError as error:
        if not found.answer.groups:
            raise
        return error
    if pick.ok or not pick.unserved:
        who = shown.counted_machines(found.fleet.count_of(left))
        message = f"`--max-environments {most}` leaves no environment for {who}"
        return NoBuildError(message, pick=pick, hint="allow more, or run without `--max-environments`")
    refused = refusal.words(pick, session.knowledge.rules)
    return NoBuildError(refused.why, pick=pick, hint=refused.remedy)


def _weighed(places: list[int], fleet: Fleet, session: Session) -> Pick:
    """The pick for these machines of the fleet alone."""
    crowds = tuple(fleet.crowds[place] for place in places)
    return session.weighed(tuple(crowd.machine for crowd in crowds))._replace(fleet=Fleet(crowds))


def _say(args: FleetArguments, found: Outlook, wish: Wish, refused: TorchpickError | None) -> None:
    environments = tuple(shown.environment(group, found.fleet, wish) for group in found.answer.groups)
    written = _write(args, found, environments)
    if args.json:
        facts = shown.as_json(found, wish, environments)
        if refused is not None:
            facts["error"] = refused
        status, exit_status = ("ok", 0) if refused is None else ("no_build", 3)
        print(envelope.dumps(envelope.new("fleet", status=status, exit_status=exit_status, files=written, **facts)))
        return
    print("\n".join(written) if written else shown.text(found, environments, console.painter(args)))
    console.notes(args, *found.fleet.notes, *shown.remarks(wish))
    if refused is not None:
        console.error(refused)


def _write(args: FleetArguments, found: Outlook, environments: tuple[SiteEnvironment, ...]) -> list[str]:
    """Write the page and the files of --emit; their names."""
    texts = {} if args.html is None else {args.html: shown.html(found, environments)}
    for form in args.emit or ():
        texts |= {os.path.join(str(args.out), name): text for name, text in emit.files(form, environments).items()}
    if args.out is not None:
        rewrite.folder(args.out)
    for file, text in texts.items():
        rewrite.put(file, text)
    return [redacted(file) for file in texts]
