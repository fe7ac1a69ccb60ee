"""One self-contained page about which PyTorch runs on which GPU: a template filled with data that is only looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from torchpick.cli.show.text import plain
from torchpick.decide.matrix import Row
from torchpick.decide.packagegpus import PackageGpuRow
from torchpick.model import VERSION
from torchpick.model.arch import Arch
from torchpick.model.build import Build, backend_order
from torchpick.model.noun import Noun
from torchpick.model.table import Table
from torchpick.model.verdict import JIT, NOT, PARTLY, RUNS
from torchpick.model.versions import release_key

# The template's own parts, files of the folder `page` beside this module.
PARTS = ("page.html", "page.css", "page.js")
# The class and the text of a cell for each verdict.
_CELLS = {RUNS: ("runs", "runs"), JIT: ("jit", "JIT"), PARTLY: ("partly", "partly"), NOT: ("none", "–")}


class PageFacts(Noun):
    """What the template says in its own sentences. `start` are the filters that the page opens with."""

    start: Mapping[str, str]
    fallback: str
    scope: str
    releases: tuple[str, ...]
    timeline: str = ""
    companions: str = ""
    packages: str = ""


def html(parts: Mapping[str, str], data: Mapping[str, object], facts: PageFacts) -> str:
    """The page. `parts` are the files of PARTS by name."""
    values = {
        "style": parts["page.css"].strip(),
        "script": parts["page.js"].strip(),
        "data": embedded({**data, "start": dict(facts.start)}),
        "oldest": escape(facts.releases[-1]),
        "newest": escape(facts.releases[0]),
        "version": escape(VERSION),
        "scope": escape(f", for {facts.scope}" if facts.scope else ""),
        "system": escape(facts.start["system"]),
        "python": escape(facts.start["python"]),
        "static": facts.fallback,
        "timeline": facts.timeline,
        "companions": facts.companions,
        "packages": facts.packages,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], parts["page.html"])


def embedded(value: Mapping[str, object]) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or open another."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def fallback(rows: Sequence[tuple[str, Row]]) -> str:
    """The newest build for each GPU as a plain table, for a browser without JavaScript."""
    lines = ["<table><thead><tr><th>GPU</th><th>such as</th><th>newest that runs</th></tr></thead><tbody>"]
    for examples, row in rows:
        newest = "none" if row.newest is None else f"torch {row.newest.build.version}"
        cells = (plain(row.gpu.label), plain(examples), newest)
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def releases(known: Table, platforms: Iterable[str], listed: Iterable[str]) -> str:
    """A table of the releases, newest first, each with an anchor: `#torch-2.14.1`."""
    builds: dict[str, list[Build]] = {}
    for platform in platforms:
        for build in known.of(platform):
            builds.setdefault(build.torch, []).append(build)
    shown = [torch for torch in listed if torch in builds]
    paired = [pair for torch in shown for build in builds[torch] for pair in build.companions.items()]
    names = sorted({name for name, version in paired if version})
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("torch", *names, "backends"))
    rows = "\n".join(_release(torch, builds[torch], names) for torch in shown)
    return f'<table id="releases"><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>'


def _release(torch: str, builds: list[Build], names: list[str]) -> str:
    cells = [_versions(build.companions.get(name) for build in builds) for name in names]
    cells.append(" ".join(sorted({build.backend for build in builds}, key=backend_order)))
    inside = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    anchor = escape(f"torch-{torch}")
    return f'<tr id="{anchor}"><th scope="row"><a href="#{anchor}">{escape(torch)}</a></th>{inside}</tr>'


def _versions(versions: Iterable[str | None]) -> str:
    """Without the label of the backend; more than one where the backends differ."""
    found = {version.partition("+")[0] for version in versions if version}
    return ", ".join(sorted(found, key=release_key, reverse=True))


def packages(rows: Sequence[PackageGpuRow], gpus: Sequence[Arch]) -> str:
    """A table with a column for each GPU; each version and, for its first one, each package has an anchor."""
    heads = "".join(f'<th scope="col" data-gpu="{gpu}">{gpu}</th>' for gpu in gpus)
    names = [row.name for row in rows]
    groups = "\n".join(_group([row for row in rows if row.name == name]) for name in dict.fromkeys(names))
    return (
        f'<table id="packages"><thead><tr><th scope="col">package</th><th scope="col">CUDA</th>{heads}</tr></thead>\n'
        f"{groups}\n</table>"
    )


def _group(rows: Sequence[PackageGpuRow]) -> str:
    anchor = escape(f"package-{rows[0].name}")
    return f'<tbody id="{anchor}">\n' + "\n".join(map(_package, rows)) + "\n</tbody>"


def _package(row: PackageGpuRow) -> str:
    anchor = escape(f"package-{row.name}-{row.version}")
    link = f'<a href="#{anchor}">{escape(f"{row.name} {row.version}")}</a>'
    declared = "" if row.measured else " (declared)"
    cells = "".join(f'<td class="{kind}">{shown}</td>' for kind, shown in map(_CELLS.__getitem__, row.words))
    return f'<tr id="{anchor}"><th scope="row">{link}{declared}</th><td>{escape(row.cuda or "")}</td>{cells}</tr>'
