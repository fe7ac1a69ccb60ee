"""The report for a meeting: one page with a chart, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from torchpick.cli.show.fleet import NOT_EXACT, counted_environments, counted_machines, kinds
from torchpick.cli.show.text import plain
from torchpick.cluster.emit import SiteEnvironment
from torchpick.decide.frontier import FleetStep, Move, Outlook
from torchpick.model.about import VERSION
from torchpick.model.fleet import Fleet
from torchpick.model.versions import release_key

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1c1f24;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #d5d9df}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}svg{width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#e3e6ea;background:#16181c}th,td{border-color:#3a3f47}
svg text{fill:#e3e6ea}}svg text.in{fill:#fff}
"""
_COLOURS = ("#2f6fab", "#3a9a6b", "#b0721a", "#8a4fa3", "#b3423f", "#4d7f8c", "#7d7a2b", "#6b6f76")
_NONE = "#c9cdd3"
_WIDE, _LEFT, _HIGH, _GAP = 900, 130, 30, 12


def html(found: Outlook, environments: Sequence[SiteEnvironment]) -> str:
    """The page."""
    fleet = found.fleet
    title = f"{counted_machines(fleet.count)}, {counted_environments(len(environments))}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        "<h2>Groups</h2>",
        _table(("torch", "machines", "GPUs", "hosts", "command"), _groups(found, environments)),
        "<h2>What more environments buy</h2>",
        _chart(found.steps, fleet),
        *([] if found.exact else [f"<p>{NOT_EXACT}</p>"]),
        *_changes("Without a kind of GPU", ("without", "who moves"), _absences(found)),
        *_changes("With a newer driver", ("driver", "on", "who moves"), _upgrades(found)),
        *_changes("Left out", ("who", "why"), _left_out(fleet)),
        f"<p>torchpick {_text(VERSION)}</p></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _text(foreign: str) -> str:
    return escape(plain(foreign))


def _groups(found: Outlook, environments: Sequence[SiteEnvironment]) -> Iterable[tuple[str, ...]]:
    for group, environment in zip(found.answer.groups, environments, strict=True):
        gpus = "; ".join(kinds(group.members, found.fleet)[:8])
        hosts = environment.hosts
        yield environment.version, str(hosts.count), gpus, hosts.text, environment.install
    if found.unserved:
        hosts = found.fleet.hosts({machine for machine, _ in found.unserved})
        yield "none", str(hosts.count), "; ".join(kinds(found.unserved, found.fleet)[:8]), hosts.text, ""


def _absences(found: Outlook) -> Iterable[tuple[str, ...]]:
    return ((absence.label, _moves(absence.moves)) for absence in found.absences)


def _upgrades(found: Outlook) -> Iterable[tuple[str, ...]]:
    for upgrade in found.upgrades or ():
        yield f"{upgrade.before} → {upgrade.after}", str(upgrade.hosts), _moves(upgrade.moves)


def _left_out(fleet: Fleet) -> Iterable[tuple[str, ...]]:
    return ((left.hosts.brief or str(left.hosts), left.text) for left in fleet.left_out)


def _moves(moves: Iterable[Move]) -> str:
    return "; ".join(f"{move.hosts.count} from {move.before or 'none'} to {move.after or 'none'}" for move in moves)


def _changes(heading: str, head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> list[str]:
    listed = list(rows)
    return [f"<h2>{_text(heading)}</h2>", _table(head, listed)] if listed else []


def _table(head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    cells = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    lines = [f"<table><thead><tr>{cells}</tr></thead><tbody>"]
    for row in rows:
        shown = [f"<code>{_text(cell)}</code>" if name in ("command", "hosts") else _text(cell)
                 for name, cell in zip(head, row, strict=True)]  # fmt: skip
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _chart(steps: Sequence[FleetStep], fleet: Fleet) -> str:
    """A bar for each number of environments, as long as the fleet, cut by the torch that its machines get."""
    releases = sorted({torch for step in steps for torch in step.releases.values()}, key=release_key, reverse=True)
    colours = {torch: _COLOURS[place % len(_COLOURS)] for place, torch in enumerate(releases)}
    high = len(steps) * (_HIGH + _GAP) + _GAP
    parts = [f'<svg viewBox="0 0 {_WIDE} {high}" role="img" aria-label="machines by torch and number of environments">']
    for place, step in enumerate(steps):
        top = _GAP + place * (_HIGH + _GAP)
        label = _text(counted_environments(place + 1))
        parts.append(f'<text x="0" y="{top + _HIGH * 2 / 3:.0f}" font-size="14">{label}</text>')
        counts: dict[str, int] = {}
        for machine, torch in step.releases.items():
            counts[torch] = counts.get(torch, 0) + fleet.crowds[machine].hosts.count
        bars = [(torch, counts[torch], colours[torch]) for torch in releases if torch in counts]
        rest = fleet.count - sum(counts.values())
        parts += _bar([*bars, *([("none", rest, _NONE)] if rest > 0 else [])], top, max(fleet.count, 1))
    return "\n".join([*parts, "</svg>"])


def _bar(bars: Sequence[tuple[str, int, str]], top: int, total: int) -> list[str]:
    parts, left = [], float(_LEFT)
    for torch, count, colour in bars:
        wide = (_WIDE - _LEFT) * count / total
        said = _text(f"{torch}: {count}")
        place = f'x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{_HIGH}"'
        parts.append(f'<rect {place} fill="{colour}"><title>{said}</title></rect>')
        if wide > 7 * len(said):
            place = f'x="{left + 6:.1f}" y="{top + _HIGH * 2 / 3:.0f}"'
            parts.append(f'<text class="in" {place} font-size="13">{said}</text>')
        left += wide
    return parts
