"""A fleet's answer: its groups with their hosts and install lines, and what stands around it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from html import escape

from torchpick.cli.show.text import plain
from torchpick.cluster.emit import SiteEnvironment
from torchpick.decide.frontier import FleetStep, Move, Outlook
from torchpick.model import VERSION
from torchpick.model.fleet import Fleet
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import GpuPlace, Group, group_json, pip_words
from torchpick.model.redaction import public
from torchpick.model.request import Wish

Paint = Callable[[str], str]
_MOST_KINDS = 6
_MOST_ROWS = 12
NOT_EXACT = "There are too many combinations of builds to try each one: a better one may exist."
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1c1f24;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;
border-bottom:1px solid #d5d9df;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#e3e6ea;background:#16181c}th,td{border-color:#3a3f47}}
"""


def environments(found: Outlook, wish: Wish) -> tuple[SiteEnvironment, ...]:
    """The groups as environments: one build may be for several systems, whose install lines are the same."""
    return tuple(_environment(group, found.fleet, wish) for group in found.answer.groups)


def _environment(group: Group, fleet: Fleet, wish: Wish) -> SiteEnvironment:
    build = group.verdict.build
    url = public(build.index_url(wish.index_base, wish.channel))
    places = sorted({machine for machine, _ in group.members})
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


def kinds(members: Sequence[GpuPlace], fleet: Fleet) -> list[str]:
    """`400 × V100 (sm_70), driver 580.95.05`: machines, not GPUs."""
    counts: dict[str, set[int]] = {}
    for place, index in members:
        machine = fleet.machines[place]
        gpu = next((gpu for gpu in machine.gpus if gpu.index == index), None)
        what = f"{machine.platform.name} without a GPU" if gpu is None else gpu.label
        counts.setdefault(what + _driver(machine), set()).add(place)
    found = {what: fleet.count_of(places) for what, places in counts.items()}
    return [f"{number} × {what}" for what, number in sorted(found.items(), key=lambda item: -item[1])]


def _driver(machine: Machine) -> str:
    driver = machine.driver
    if driver is None or not machine.counted:
        return ""
    return (
        f", driver {driver.version or 'for CUDA ' + (driver.cuda or '?')}{' (assumed)' * (driver.source == 'assumed')}"
    )


def text(found: Outlook, groups: Sequence[SiteEnvironment], bold: Paint = str) -> str:
    """The groups, then the frontier, then what newer drivers would gain."""
    fleet = found.fleet
    lines = [bold(plain(f"{counted_machines(fleet.count)}, {counted_environments(len(groups))}")), ""]
    for group, environment in zip(found.answer.groups, groups, strict=True):
        lines.append(bold(plain(f"torch {environment.version} for {counted_machines(environment.hosts.count)}")))
        if environment.hosts.text:
            lines.append(f"  hosts  {plain(environment.hosts.text)}")
        rows = kinds(group.members, fleet)
        lines += [f"  {'gpus' if place == 0 else '':<5}  {plain(row)}" for place, row in enumerate(rows[:_MOST_KINDS])]
        lines += [f"         and {len(rows) - _MOST_KINDS} more kinds"] if len(rows) > _MOST_KINDS else []
        lines += [f"  run    {plain(environment.install)}", ""]
    if found.unserved:
        hosts = fleet.hosts({machine for machine, _ in found.unserved})
        lines.append(bold(plain(f"no environment for {counted_machines(hosts.count)}")))
        lines += [f"  hosts  {plain(hosts.text)}"] if hosts.text else []
        lines += [*(f"  {plain(row)}" for row in kinds(found.unserved, fleet)[:_MOST_KINDS]), ""]
    lines += _frontier(found, bold)
    if found.upgrades == ():
        lines += [f"no newer driver alone buys a newer torch with {counted_environments(len(groups))}", ""]
    if found.upgrades:
        lines.append(bold(f"with {counted_environments(len(groups))}, and a newer driver"))
        for upgrade in found.upgrades[:_MOST_ROWS]:
            lines += _moves(
                f"  {upgrade.before} → {upgrade.after} on {counted_machines(upgrade.hosts.count)}", upgrade.moves
            )
        lines.append("")
    return "\n".join(lines[:-1])


def _frontier(found: Outlook, bold: Paint) -> list[str]:
    if len(found.steps) < 2:
        return []
    lines = [bold("environments  who gets which torch")]
    for place, step in enumerate(found.steps, start=1):
        mark = " (this answer)" if step.releases == found.answer.releases else ""
        lines.append(f"{place:>12}  {plain('; '.join(shares(step, found.fleet)))}{mark}")
    return [*lines, *([] if found.exact else ["", NOT_EXACT]), ""]


def shares(step: FleetStep, fleet: Fleet) -> list[str]:
    """`400 machines 2.14.1`, those without any last."""
    counts: dict[str, int] = {}
    for group in step.groups:
        places = {place for place, _ in group.members}
        count = fleet.count_of(places)
        counts[group.verdict.build.version] = counts.get(group.verdict.build.version, 0) + count
    words = [f"{version} for {count}" for version, count in counts.items()]
    none = fleet.count - fleet.count_of(step.releases)
    return [*words, *([f"none for {none}"] if none > 0 else [])]


def _moves(head: str, moves: Sequence[Move]) -> list[str]:
    rows = [
        f"{counted_machines(move.hosts.count)} {'moves' if move.hosts.count == 1 else 'move'} "
        f"from {move.before or 'none'} to {move.after or 'none'}"
        for move in moves
    ]
    return [plain(f"{head}: {'; '.join(rows)}")]


def counted_machines(count: int) -> str:
    return f"{count} machine{'' if count == 1 else 's'}"


def counted_environments(count: int) -> str:
    return f"{count} environment{'' if count == 1 else 's'}"


def as_json(found: Outlook, wish: Wish, groups: Sequence[SiteEnvironment]) -> dict[str, object]:
    fleet = found.fleet
    plan = [
        {**group_json(group, wish, fleet), "gpu_names": kinds(group.members, fleet), "install": environment.install}
        for group, environment in zip(found.answer.groups, groups, strict=True)
    ]
    one = len(plan) == 1 and not found.unserved
    return {
        "machine": None,
        "machines": fleet.crowds,
        "left_out": fleet.left_out,
        "notes": (*fleet.notes, *remarks(wish)),
        "pick": plan[0]["pick"] if one else None,
        "plan": plan,
        "unserved": found.unserved,
        "frontier": [_step(place, step, fleet) for place, step in enumerate(found.steps, start=1)],
        "upgrades": [
            {"from": upgrade.before, "to": upgrade.after, **upgrade.hosts.to_json(), "moves": upgrade.moves}
            for upgrade in found.upgrades or ()
        ],
    }


def _step(place: int, step: FleetStep, fleet: Fleet) -> dict[str, object]:
    return {
        "environments": place,
        "groups": [
            {
                "version": group.verdict.build.version,
                **fleet.hosts({machine for machine, _ in group.members}).to_json(),
            }
            for group in step.groups
        ],
        "without": fleet.count - fleet.count_of(step.releases),
        "exact": step.exact,
    }


def html(found: Outlook, environments: Sequence[SiteEnvironment]) -> str:
    """The page: the groups, and who is left out."""
    title = f"{counted_machines(found.fleet.count)}, {counted_environments(len(environments))}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *_table("Groups", ("torch", "machines", "GPUs", "hosts", "command"), _groups(found, environments)),
        *_table("Left out", ("who", "why"), [(str(left.hosts), left.text) for left in found.fleet.left_out]),
        f"<p>torchpick {escape(VERSION)}</p></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _groups(found: Outlook, environments: Sequence[SiteEnvironment]) -> Iterable[tuple[str, ...]]:
    for group, environment in zip(found.answer.groups, environments, strict=True):
        gpus = "; ".join(kinds(group.members, found.fleet)[:8])
        hosts = environment.hosts
        yield environment.version, str(hosts.count), gpus, hosts.text, environment.install
    if found.unserved:
        hosts = found.fleet.hosts({machine for machine, _ in found.unserved})
        yield "none", str(hosts.count), "; ".join(kinds(found.unserved, found.fleet)[:8]), hosts.text, ""


def _table(heading: str, head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"<tr>{''.join(f'<td>{escape(plain(cell))}</td>' for cell in row)}</tr>" for row in rows]
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    return [f"<h2>{heading}</h2>", f"<table><tr>{cells}</tr>", *lines, "</table>"] if lines else []
