"""One self-contained page about which PyTorch runs on which GPU: a template filled with data that is only looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape

from torchpick.cli.show.text import plain
from torchpick.decide.matrix import Row
from torchpick.model.about import VERSION
from torchpick.model.noun import Noun

# The template's own parts, files of the folder `page` beside this module.
PARTS = ("page.html", "page.css", "page.js")


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
