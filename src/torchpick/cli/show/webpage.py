"""One self-contained page about which PyTorch runs on which GPU: a template filled with data that is only added up."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from torchpick.cli.show import page_data
from torchpick.decide import matrix
from torchpick.decide.matrix import Row
from torchpick.decide.packagefit import PackageGpuRow
from torchpick.knowledge import locations
from torchpick.model import VERSION
from torchpick.model.arch import Arch
from torchpick.model.build import Build, backend_order
from torchpick.model.generations import kind_of
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.verdict import JIT, NOT, PARTLY, RUNS
from torchpick.model.versions import release_key

# The class and the text of a cell for each verdict.
_CELLS = {RUNS: ("runs", "runs"), JIT: ("jit", "JIT"), PARTLY: ("partly", "partly"), NOT: ("none", "–")}


def page(
    known: Table, wish: Wish, names: Iterable[tuple[str, str]], rows: Sequence[Row], texts: Mapping[str, str]
) -> str:
    """The page of a table. `rows` stand there without JavaScript; `texts` are the template's other parts, as HTML."""
    listed = matrix.releases_of(rows)
    opens = {name: texts[name] for name in ("system", "python", "guess")}
    values = {
        **texts,
        "style": _part("page.css").strip(),
        "script": _part("page.js").strip(),
        "data": embedded({**page_data.data(known, wish, names), "start": opens}),
        "version": escape(VERSION),
        "oldest": escape(listed[-1]),
        "newest": escape(listed[0]),
        "static": _table("static", ("GPU", "such as", "newest that runs"), [_newest(row) for row in rows]),
        "companions": _releases(known, listed),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _part("page.html"))


def _part(name: str) -> str:
    return locations.read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page", name)).decode()


def embedded(value: Mapping[str, object]) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or open another."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packages(rows: Iterable[PackageGpuRow], gpus: Sequence[Arch]) -> str:
    """A table with a column for each GPU; each version and, by its newest one, each package has an anchor."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        cells = "".join(f'<td class="{kind}">{shown}</td>' for kind, shown in map(_CELLS.__getitem__, row.words))
        head = _head(f"package-{row.name}-{row.version}", f"{row.name} {row.version}")
        declared = "" if row.measured else " (declared)"
        groups.setdefault(row.name, []).append(f"{head}{declared}</th><td>{escape(row.cuda or '')}</td>{cells}</tr>")
    bodies = [
        "\n".join([f'<tbody id="{escape(f"package-{name}")}">', *lines, "</tbody>"]) for name, lines in groups.items()
    ]
    return _table("packages", ("package", "CUDA", *map(str, gpus)), bodies)


def _releases(known: Table, listed: Iterable[str]) -> str:
    """A table of the releases, newest first, with what was made for each; each has an anchor: `#torch-2.14.1`."""
    builds: dict[str, list[Build]] = {}
    for platform in page_data.PLATFORMS:
        for build in known.of(platform):
            builds.setdefault(build.torch, []).append(build)
    shown = [(torch, builds[torch]) for torch in listed]
    names = sorted({name for _, own in shown for build in own for name, version in build.companions.items() if version})
    return _table("releases", ("torch", *names, "backends"), [_release(torch, own, names) for torch, own in shown])


def _release(torch: str, builds: list[Build], names: list[str]) -> str:
    cells = [_versions(build.companions.get(name) for build in builds) for name in names]
    backends = sorted({build.backend for build in builds}, key=backend_order)
    return f"{_head(f'torch-{torch}', torch)}</th>{_cells([*cells, ' '.join(backends)])}</tr>"


def _versions(versions: Iterable[str | None]) -> str:
    """Without the label of the backend; more than one where the backends differ."""
    found = {version.partition("+")[0] for version in versions if version}
    return ", ".join(sorted(found, key=release_key, reverse=True))


def _newest(row: Row) -> str:
    kind = kind_of(row.gpu.arch)
    newest = "none" if row.newest is None else f"torch {row.newest.build.version}"
    return f"<tr>{_cells([row.gpu.label, '' if kind is None else ', '.join(kind.examples), newest])}</tr>"


def _table(name: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    return "\n".join([f'<table id="{name}"><thead><tr>{cells}</tr></thead>', *rows, "</table>"])


def _head(anchor: str, text: str) -> str:
    """The beginning of a row, whose head is a link to itself."""
    return f'<tr id="{escape(anchor)}"><th scope="row"><a href="#{escape(anchor)}">{escape(text)}</a>'


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)
