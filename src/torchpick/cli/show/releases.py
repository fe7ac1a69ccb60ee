"""Every release with what belongs to it, as the rows of a page's table: companions and backends. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from torchpick.model.build import Build, backend_order
from torchpick.model.table import Table
from torchpick.model.versions import release_key


def table(known: Table, platforms: Iterable[str], releases: Iterable[str]) -> str:
    """A table of the releases, newest first, each with an anchor: `#torch-2.14.1`."""
    builds: dict[str, list[Build]] = {}
    for platform in platforms:
        for build in known.of(platform):
            builds.setdefault(build.torch, []).append(build)
    shown = [torch for torch in releases if torch in builds]
    paired = [pair for torch in shown for build in builds[torch] for pair in build.companions.items()]
    names = sorted({name for name, version in paired if version})
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("torch", *names, "backends"))
    rows = "\n".join(_row(torch, builds[torch], names) for torch in shown)
    return f'<table id="releases"><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>'


def _row(torch: str, builds: list[Build], names: list[str]) -> str:
    cells = [_versions(build.companions.get(name) for build in builds) for name in names]
    cells.append(" ".join(sorted({build.backend for build in builds}, key=backend_order)))
    inside = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    anchor = escape(f"torch-{torch}")
    return f'<tr id="{anchor}"><th scope="row"><a href="#{anchor}">{escape(torch)}</a></th>{inside}</tr>'


def _versions(versions: Iterable[str | None]) -> str:
    """Without the label of the backend; more than one where the backends differ."""
    found = {version.partition("+")[0] for version in versions if version}
    return ", ".join(sorted(found, key=release_key, reverse=True))
