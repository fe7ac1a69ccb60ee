"""A fleet's answer: its groups with their hosts and install lines, and what stands around it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape

from torchpick.cli.text import block, plain
from torchpick.cluster.emit import SiteEnvironment
from torchpick.decide.several import Outlook, Upgrade
from torchpick.model import VERSION
from torchpick.model.address import public
from torchpick.model.fleet import Fleet, Hosts
from torchpick.model.machine import Note
from torchpick.model.pick import GpuPlace, Group, Wish, group_json, machines_of, pip_words
from torchpick.model.versions import grouped

Paint = Callable[[str], str]
NOT_EXACT = "There are too many combinations of builds to try each one: a better one may exist."
_PAGE = """\
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


def environment(group: Group, fleet: Fleet, wish: Wish) -> SiteEnvironment:
    """A group, as what is emitted names it."""
    build = group.verdict.build
    url = public(build.index_url(wish.index_base, wish.channel))
    places = machines_of(group.members)
    return SiteEnvironment(
        name=f"torch-{build.version.replace('+', '-')}",
        version=build.version,
        backend=build.backend,
        hosts=fleet.hosts(places),
        install=shlex.join(["pip", "install", *pip_words(build, wish, url)]),
    )


def remarks(wish: Wish) -> tuple[Note, ...]:
    """What a person must do about the install lines."""
    if public(wish.index_base) == wish.index_base:
        return ()
    text = "the install lines name the index without its login: give it to pip by netrc, a keyring or a build secret"
    return (Note("CREDENTIALS_LEFT_OUT", text),)


def kinds(members: Sequence[GpuPlace], fleet: Fleet) -> tuple[str, ...]:
    """`400 × V100 (sm_70), driver 580.95.05`: GPUs, or machines without one."""
    counts: Counter[str] = Counter()
    for place, index in members:
        machine, hosts = fleet.crowds[place]
        driver = machine.driver if machine.counted else None
        assumed = " (assumed)" if driver and driver.source == "assumed" else ""
        counts[machine.label_of(index) + (f", driver {driver.label}{assumed}" if driver else "")] += hosts.count
    return tuple(f"{number} × {what}" for what, number in counts.most_common())


def text(found: Outlook, groups: Sequence[SiteEnvironment], bold: Paint = str) -> str:
    """The groups, then what newer drivers would gain."""
    fleet = found.fleet
    lines = [bold(_title(found, groups)), ""]
    for group, environment in zip(found.groups, groups, strict=True):
        facts = _facts(environment.hosts, kinds(group.members, fleet), environment.install)
        lines += [bold(f"torch {environment.version} for {counted('machine', environment.hosts.count)}"), facts, ""]
    if found.unserved:
        hosts = fleet.hosts(machines_of(found.unserved))
        facts = _facts(hosts, kinds(found.unserved, fleet), "")
        lines += [bold(f"no environment for {counted('machine', hosts.count)}"), facts, ""]
    lines += [] if found.exact else [NOT_EXACT, ""]
    if found.upgrades is not None:
        lines.append(bold(f"with {counted('environment', len(groups))}, and a newer driver"))
        lines += [plain(f"  {_upgrade(upgrade)}") for upgrade in found.upgrades] or ["  no torch is newer"]
        lines.append("")
    lines += [bold("left out"), _causes(fleet), ""] if fleet.left_out else []
    return "\n".join(lines[:-1])


def _causes(fleet: Fleet) -> str:
    """Who is left out and why, and what to do about those causes."""
    rows: list[tuple[str, str]] = []
    for hint, parts in grouped((left.hint, left.words) for left in fleet.left_out).items():
        rows += [*(("  cause", words) for words in parts), ("  try", hint)]
    return block([row for row in rows if row[1]], None, indent=9)


def _title(found: Outlook, groups: Sequence[SiteEnvironment]) -> str:
    return f"{counted('machine', found.fleet.count)}, {counted('environment', len(groups))}"


def _facts(hosts: Hosts, of_kinds: Sequence[str], install: str) -> str:
    """What stands below a group's first line."""
    facts = [("hosts", hosts.text), *(("gpus", kind) for kind in of_kinds), ("run", install)]
    return block([(f"  {label}", fact) for label, fact in facts if fact], None, indent=9)


def _upgrade(upgrade: Upgrade) -> str:
    """`535 → 580 on 3 machines: 3 machines from 2.10.0 to 2.15.0`."""
    moves = [
        f"{counted('machine', move.hosts.count)} from {move.before or 'none'} to {move.after or 'none'}"
        for move in upgrade.moves
    ]
    return f"{upgrade.before} → {upgrade.after} on {counted('machine', upgrade.hosts.count)}: {'; '.join(moves)}"


def counted(what: str, count: int) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def as_json(found: Outlook, wish: Wish, groups: Sequence[SiteEnvironment]) -> dict[str, object]:
    fleet = found.fleet
    plan = [
        {**group_json(group, wish, fleet), "gpu_names": kinds(group.members, fleet), "install": environment.install}
        for group, environment in zip(found.groups, groups, strict=True)
    ]
    one = len(plan) == 1 and not found.unserved
    return {
        "machine": None,
        "machines": fleet.crowds,
        "left_out": fleet.left_out,
        "notes": (*fleet.notes, *found.notes, *remarks(wish)),
        "pick": plan[0]["pick"] if one else None,
        "plan": plan,
        "unserved": found.unserved,
        "exact": found.exact,
        "upgrades": [
            {"from": upgrade.before, "to": upgrade.after, **upgrade.hosts.to_json(), "moves": upgrade.moves}
            for upgrade in found.upgrades or ()
        ],
    }


def html(found: Outlook, environments: Sequence[SiteEnvironment]) -> str:
    """The same text as one page."""
    body = f"{text(found, environments)}\n\ntorchpick {VERSION}"
    return _PAGE.format(title=_title(found, environments), body=escape(body))
