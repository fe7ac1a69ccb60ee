"""Detect many machines and pick a build for each group of them."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import block, plain
from torchpick.cluster import emit, sources
from torchpick.cluster.emit import SiteEnvironment
from torchpick.cluster.engine import ClusterError, Engine
from torchpick.decide import refusal, several
from torchpick.decide.several import Groups, HostGroup, Upgrade
from torchpick.environment import rewrite
from torchpick.errors import DetectionError, NoBuildError, UsageError
from torchpick.install.question import read_wish
from torchpick.machine import machinefiles
from torchpick.model import VERSION
from torchpick.model.address import public, redacted
from torchpick.model.fleet import Fleet, Hosts
from torchpick.model.machine import Note
from torchpick.model.pick import GpuPlace, Request, Wish, group_json, machines_of, pip_words
from torchpick.model.versions import grouped
from torchpick.run import Run


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
    run = console.start(args, arguments.with_wish(request, args))
    wish = read_wish(run)
    detected = _asked(args, places, run)
    fleet = machinefiles.prepare(detected, run.knowledge.rules.drivers, wish, strict=args.strict)
    table = run.read_table(fleet.machines)
    outlook = several.outlook(fleet, table, wish, most=most, upgrades=args.upgrades)
    refused = _refusal(outlook, run, most) if outlook.unserved else None
    _say(args, outlook, refused, table.date)
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


def _refusal(outlook: Groups, run: Run, most: int | None) -> NoBuildError:
    """Why machines are left without an environment. UsageError for a request that no machine can answer."""
    if outlook.nothing is None:  # each has a build, and only no room
        who = _counted("machine", outlook.fleet.hosts(machines_of(outlook.unserved)).count)
        message = f"`--max-environments {most}` leaves no environment for {who}"
        return NoBuildError(message, pick=None, hint="allow more, or run without `--max-environments`")
    if not outlook.plan:
        run.knowledge.check_backends(outlook.wish, run.read_table(outlook.fleet.machines))
    why, remedy = refusal.explain_no_build(outlook.nothing, run.knowledge.rules)
    return NoBuildError(why, pick=outlook.nothing, hint=remedy)


def _say(args: Arguments, outlook: Groups, refused: NoBuildError | None, date: str | None) -> None:
    environments = tuple(map(_environment, outlook.groups))
    written = _write(args, outlook, environments)
    if args.json:
        facts = {**_json(outlook, environments), **({"error": refused} if refused is not None else {})}
        console.print_json(args, date, 0 if refused is None else 3, files=written, **facts)
        return
    print("\n".join(written) if written else _page(outlook, environments, console.painter()))
    own = outlook.fleet.notes if written else outlook.fleet.own_notes  # the text names who is left out
    console.notes(args, *own, *outlook.notes, *_remarks(outlook.wish))
    if refused is not None:
        console.error(refused)


def _write(args: Arguments, outlook: Groups, environments: tuple[emit.SiteEnvironment, ...]) -> list[str]:
    """Write the page and the files of --emit; their names."""
    unnamed = sum(environment.hosts.unnamed for environment in environments)
    if args.emit and unnamed:
        hint = "write the host's name before its line, as `n1: {…}`, or name its file n1.json and pass the folder"
        raise UsageError(f"`--emit` writes hosts, and {_counted('machine', unnamed)} came without a name", hint=hint)
    texts = {}
    if args.html is not None:  # the same text as one page
        body = escape(f"{_page(outlook, environments)}\n\ntorchpick {VERSION}")
        texts[args.html] = _HTML.format(title=_title(outlook, environments), body=body)
    for form in args.emit:
        texts |= {os.path.join(str(args.out), name): text for name, text in emit.FORMS[form](environments).items()}
    if args.out is not None:
        rewrite.folder(args.out)
    for file, text in texts.items():
        rewrite.put(file, text)
    return [redacted(file) for file in texts]


Paint = Callable[[str], str]
NOT_EXACT = "There are too many combinations of builds to try each one: a better one may exist."
_HTML = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>pre{{font:15px/1.5 monospace;margin:2rem auto;max-width:70rem;
white-space:pre-wrap;overflow-wrap:anywhere}}</style>
</head><body><pre>
{body}
</pre></body></html>
"""


def _environment(group: HostGroup) -> SiteEnvironment:
    build, wish = group.pick.build, group.pick.wish
    return SiteEnvironment(
        name=f"torch-{build.version.replace('+', '-')}",
        version=build.version,
        backend=build.backend,
        hosts=group.hosts,
        install=shlex.join(["pip", "install", *pip_words(build, wish, public(group.pick.index_url))]),
    )


def _remarks(wish: Wish) -> tuple[Note, ...]:
    """What a person must do about the install lines."""
    if public(wish.index_base) == wish.index_base:
        return ()
    text = "the install lines name the index without its login: give it to pip by netrc, a keyring or a build secret"
    return (Note("CREDENTIALS_LEFT_OUT", text),)


def _kinds(members: Sequence[GpuPlace], fleet: Fleet) -> tuple[str, ...]:
    """`400 × V100 (sm_70), driver 580.95.05`: GPUs, or machines without one."""
    counts: Counter[str] = Counter()
    for of_machine, index in members:
        machine, hosts = fleet.crowds[of_machine]
        driver = machine.driver if machine.counted else None
        assumed = " (assumed)" if driver and driver.source == "assumed" else ""
        counts[machine.label_of(index) + (f", driver {driver.label}{assumed}" if driver else "")] += hosts.count
    return tuple(f"{number} × {what}" for what, number in counts.most_common())


def _page(outlook: Groups, groups: Sequence[SiteEnvironment], bold: Paint = str) -> str:
    fleet = outlook.fleet
    lines = [bold(_title(outlook, groups)), ""]
    for group, environment in zip(outlook.plan, groups, strict=True):
        facts = _lines_below(environment.hosts, _kinds(group.members, fleet), environment.install)
        lines += [bold(f"torch {environment.version} for {_counted('machine', environment.hosts.count)}"), facts, ""]
    if outlook.unserved:
        hosts = fleet.hosts(machines_of(outlook.unserved))
        facts = _lines_below(hosts, _kinds(outlook.unserved, fleet), "")
        lines += [bold(f"no environment for {_counted('machine', hosts.count)}"), facts, ""]
    lines += [] if outlook.exact else [NOT_EXACT, ""]
    if outlook.upgrades is not None:
        lines.append(bold(f"with {_counted('environment', len(groups))}, and a newer driver"))
        lines += [plain(f"  {_upgrade(upgrade)}") for upgrade in outlook.upgrades] or ["  no torch is newer"]
        lines.append("")
    # Who is left out and why, and what to do about those causes.
    rows: list[tuple[str, str]] = []
    for hint, causes in grouped((left.hint, left.words) for left in fleet.left_out).items():
        rows += [*(("  cause", words) for words in causes), ("  try", hint)]
    lines += [bold("left out"), block([row for row in rows if row[1]], None, indent=9), ""] if rows else []
    return "\n".join(lines[:-1])


def _title(outlook: Groups, groups: Sequence[SiteEnvironment]) -> str:
    return f"{_counted('machine', outlook.fleet.count)}, {_counted('environment', len(groups))}"


def _lines_below(hosts: Hosts, of_kinds: Sequence[str], install: str) -> str:
    """What stands below a group's first line."""
    facts = [("hosts", hosts.text), *(("gpus", kind) for kind in of_kinds), ("run", install)]
    return block([(f"  {label}", fact) for label, fact in facts if fact], None, indent=9)


def _upgrade(upgrade: Upgrade) -> str:
    """`535 → 580 on 3 machines: 3 machines from 2.10.0 to 2.15.0`."""
    older, newer, whose, moves = upgrade
    texts = [
        f"{_counted('machine', hosts.count)} from {before or 'none'} to {after or 'none'}"
        for before, after, hosts in moves
    ]
    return f"{older} → {newer} on {_counted('machine', whose.count)}: {'; '.join(texts)}"


def _counted(what: str, count: int) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _json(outlook: Groups, groups: Sequence[SiteEnvironment]) -> dict[str, object]:
    fleet = outlook.fleet
    plan = [
        {
            **group_json(group, outlook.wish, fleet),
            "gpu_names": _kinds(group.members, fleet),
            "install": environment.install,
        }
        for group, environment in zip(outlook.plan, groups, strict=True)
    ]
    one = len(plan) == 1 and not outlook.unserved
    return {
        "machine": None,
        "machines": fleet.crowds,
        "left_out": fleet.left_out,
        "notes": (*fleet.notes, *outlook.notes, *_remarks(outlook.wish)),
        "pick": plan[0]["pick"] if one else None,
        "plan": plan,
        "unserved": [[*place] for place in outlook.unserved],
        "exact": outlook.exact,
        "upgrades": [
            {
                "from": older,
                "to": newer,
                **whose.to_dict(),
                "moves": [{"before": old, "after": new, **hosts.to_dict()} for old, new, hosts in moves],
            }
            for older, newer, whose, moves in outlook.upgrades or ()
        ],
    }
