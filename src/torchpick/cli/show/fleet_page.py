"""The fleet's groups as one page for others, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from torchpick.cli.show.fleet import counted_environments, counted_machines, kinds
from torchpick.cli.show.text import plain
from torchpick.cluster.emit import SiteEnvironment
from torchpick.decide.frontier import Outlook
from torchpick.model import VERSION

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1c1f24;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;
border-bottom:1px solid #d5d9df;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#e3e6ea;background:#16181c}th,td{border-color:#3a3f47}}
"""


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
