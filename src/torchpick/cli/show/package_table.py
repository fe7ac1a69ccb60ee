"""Which build of a CUDA package has code for which GPU, as the rows of a page's table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchpick.decide.packagegpus import PackageGpuRow
from torchpick.model.arch import Arch
from torchpick.model.support import JIT, NOT, PARTLY, RUNS

# The class and the text of a cell for each verdict.
_CELLS = {RUNS: ("runs", "runs"), JIT: ("jit", "JIT"), PARTLY: ("partly", "partly"), NOT: ("none", "–")}


def table(rows: Sequence[PackageGpuRow], gpus: Sequence[Arch]) -> str:
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
    return f'<tbody id="{anchor}">\n' + "\n".join(map(_row, rows)) + "\n</tbody>"


def _row(row: PackageGpuRow) -> str:
    anchor = escape(f"package-{row.name}-{row.version}")
    link = f'<a href="#{anchor}">{escape(f"{row.name} {row.version}")}</a>'
    declared = "" if row.measured else " (declared)"
    cells = "".join(f'<td class="{kind}">{shown}</td>' for kind, shown in map(_CELLS.__getitem__, row.words))
    return f'<tr id="{anchor}"><th scope="row">{link}{declared}</th><td>{escape(row.cuda or "")}</td>{cells}</tr>'
