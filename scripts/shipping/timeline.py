"""README's picture of which release dropped which GPU, from the table: a bar a GPU over the releases that run on it.

The picture is for Linux on x86-64, with the newest driver that supports the GPU and whatever Python has the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from scripts.shipping.picture import PICTURES, ROOT, draw
from torchpick.decide import matrix
from torchpick.decide.matrix import Row
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Fit
from torchpick.model.build import Reason, Verdict
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import Kind, Table
from torchpick.model.versions import major_minor

PICTURE = PICTURES / "timeline.svg"
PLATFORM = "linux-x86_64"
_CELL, _BAR, _ROW, _LEFT, _TOP, _RIGHT = 34, 20, 30, 262, 92, 16
_STYLE = (
    ".tl{font-family:system-ui,sans-serif}.tl text{fill:#1b1f24;font-size:13px}"
    ".tl .title{font-size:17px;font-weight:600}"
    ".tl .soft{fill:#57606a;font-size:12px}.tl .grid{stroke:#d0d7de}.tl .ground{fill:#fff}"
    ".tl .runs{fill:#2da44e}.tl .jit{fill:#d4a72c}.tl .said{fill:#fff;font-weight:600;font-size:12px}"
    ".tl .said.dark{fill:#1b1f24}"
    "@media(prefers-color-scheme:dark){.tl text{fill:#e6edf3}.tl .soft{fill:#9aa6b2}.tl .grid{stroke:#38424d}"
    ".tl .ground{fill:#0f1419}.tl .runs{fill:#238636}.tl .jit{fill:#9e6a03}.tl .said,.tl .said.dark{fill:#fff}}"
)


class ReleaseSpan(NamedTuple):
    """Releases one after the other that run in the same way: the places of the first and the last, oldest is 0."""

    first: int
    last: int
    jit: bool


class Bar(NamedTuple):
    """One GPU: where it runs, the last build for it, and the place of the last release that has its family at all."""

    kind: Kind
    stretches: tuple[ReleaseSpan, ...]
    last: Verdict | None
    known: int

    @property
    def dropped(self) -> bool:
        return self.last is not None and self.stretches[-1].last < self.known


class Timeline(NamedTuple):
    """The newest patch of each minor release, oldest first, and a bar a GPU."""

    releases: tuple[str, ...]
    bars: tuple[Bar, ...]


def rows_of(table: Table, platform: str = PLATFORM) -> list[tuple[Kind, Row]]:
    """Every kind of GPU that a platform has builds or names for, judged with its newest driver."""
    targets = {arch for build in table.of(platform) for arch in build.arches or () if arch.kind == "gfx"}
    amd = sorted(targets, key=lambda arch: (len(arch.suffix), arch.suffix))
    kinds = [kind for kind in table.nvidia if kind.found_on(platform)] + [
        table.kind_of(arch) or Kind(arch, "AMD", ()) for arch in amd
    ]
    machine = Machine(Platform.parse(platform), Python("3.12"), None, ())
    rows: list[tuple[Kind, Row]] = []
    for vendor in ("nvidia", "amd"):  # a machine of both would have the builds of one of them alone
        mine = [kind for kind in kinds if kind.vendor == vendor]
        rows += zip(mine, matrix.rows(machine._replace(gpus=matrix.gpus_of(mine)), table, Wish()), strict=True)
    return rows


def of(table: Table) -> Timeline:
    """The timeline of the table's own releases, which must hold the builds of `PLATFORM`."""
    table = table.without_vendors()
    judged = rows_of(table)
    rows = [row for _, row in judged]
    releases = tuple(reversed(matrix.newest_patches(matrix.releases_of(rows))))
    published = {(build.family, build.torch) for build in table.of(PLATFORM)}
    known = {
        vendor: max(place for place, torch in enumerate(releases) if (family, torch) in published)
        for vendor, family in (("nvidia", "cuda"), ("amd", "rocm"))
    }
    bars = (_bar(kind, row, releases, known[kind.vendor]) for kind, row in judged)
    return Timeline(releases, tuple(bar for bar in bars if bar.last is not None))


def _bar(kind: Kind, row: Row, releases: Sequence[str], known: int) -> Bar:
    best = {torch: best_of(verdicts) for torch, verdicts in row.releases.items()}
    stretches: list[ReleaseSpan] = []
    last = None
    for place, release in enumerate(releases):
        verdict = best.get(release)
        if verdict is None:
            continue
        last = verdict
        jit = min(each.fit for each in verdict.fits) is Fit.JIT
        if stretches and stretches[-1].last == place - 1 and stretches[-1].jit == jit:
            stretches[-1] = stretches[-1]._replace(last=place)
        else:
            stretches.append(ReleaseSpan(place, place, jit))
    return Bar(kind, tuple(stretches), last, known)


def best_of(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The first build that runs, whatever the Python."""
    return next((verdict for verdict in verdicts if not verdict.reasons - {Reason.NO_WHEEL_FOR_PYTHON}), None)


def drawn(timeline: Timeline) -> str:
    """The picture, for light and dark pages."""
    releases, bars = timeline.releases, timeline.bars
    width = _LEFT + len(releases) * _CELL + _RIGHT
    height = _TOP + len(bars) * _ROW + 34
    parts = [
        f'<svg class="tl" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(_said(timeline))}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        '<text class="title" x="16" y="28">Which PyTorch release dropped which GPU</text>',
        f'<text class="soft" x="16" y="48">pip wheels of download.pytorch.org for {PLATFORM}; a bar ends at the last '
        "release that runs, with its backend</text>",
        *(_heading(release, _LEFT + place * _CELL) for place, release in enumerate(releases)),
    ]
    for number, bar in enumerate(bars):
        parts += _bar_of(bar, _TOP + number * _ROW, width, releases)
    bottom = height - 14
    parts += [
        f'<rect class="runs" x="16" y="{bottom - 11}" width="26" height="13" rx="3"/>',
        f'<text class="soft" x="48" y="{bottom}">machine code in the wheel</text>',
        f'<rect class="jit" x="216" y="{bottom - 11}" width="26" height="13" rx="3"/>',
        f'<text class="soft" x="248" y="{bottom}">PTX, compiled by the driver at first use; ?: no build known</text>',
        "</svg>",
    ]
    return "\n".join([*parts, ""])


def _heading(release: str, left: int) -> str:
    minor = escape(major_minor(release))
    return f'<text class="soft" x="{left + _CELL / 2:.0f}" y="{_TOP - 12}" text-anchor="middle">{minor}</text>'


def _bar_of(bar: Bar, top: int, width: int, releases: Sequence[str]) -> Iterable[str]:
    kind = bar.kind
    yield f'<line class="grid" x1="16" x2="{width - _RIGHT}" y1="{top - 1}" y2="{top - 1}"/>'
    yield f'<text x="16" y="{top + 19}">{escape(_short(kind))}</text>'
    yield f'<text class="soft" x="{_LEFT - 10}" y="{top + 19}" text-anchor="end">{escape(str(kind.arch))}</text>'
    for stretch in bar.stretches:
        left, size = _LEFT + stretch.first * _CELL, (stretch.last - stretch.first + 1) * _CELL
        look = "jit" if stretch.jit else "runs"
        yield f'<rect class="{look}" x="{left + 1}" y="{top + 4}" width="{size - 2}" height="{_BAR}" rx="4"/>'
    end = bar.stretches[-1]
    if bar.known < len(releases) - 1:
        left = _LEFT + (bar.known + 1) * _CELL
        yield f'<text class="soft" x="{left + _CELL / 2:.0f}" y="{top + 18}" text-anchor="middle">?</text>'
    if bar.last is not None and bar.dropped:
        text = f"{bar.last.build.torch} {bar.last.build.backend}"
        inside = (end.last - end.first + 1) * _CELL > 7 * len(text) + 14
        x, anchor = _LEFT + (end.last + 1) * _CELL + (-9 if inside else 7), "end" if inside else "start"
        look = f"said{' dark' if end.jit else ''}" if inside else "soft"
        yield f'<text class="{look}" x="{x}" y="{top + 18}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(kind: Kind) -> str:
    """`Pascal: GTX 1080 Ti`."""
    example = kind.examples[0] if kind.examples else ""
    for brand in ("GeForce ", "Tesla ", "Instinct "):
        example = example.removeprefix(brand).replace("Radeon RX", "RX")
    return f"{kind.generation}: {example}" if example else kind.generation


def _said(timeline: Timeline) -> str:
    """The picture in words, for a screen reader."""
    listed = "; ".join(
        f"{_short(bar.kind)} ({bar.kind.arch}) after {bar.last.build.torch}"
        for bar in timeline.bars
        if bar.last is not None and bar.dropped
    )
    span = f"{timeline.releases[0]} to {timeline.releases[-1]}"
    return f"A bar for each GPU over the PyTorch releases {span} that run on it. Dropped: {listed}"


def svg() -> str:
    """From the table as it is shipped, without what this user refreshed."""
    knowledge = Knowledge({"TORCHPICK_COMPAT_DIR": str(ROOT / "compat"), "TORCHPICK_CACHE_DIR": str(ROOT / "no-cache")})
    return drawn(of(knowledge.table([PLATFORM])))


def main(words: Sequence[str]) -> int:
    return draw(words, __doc__, PICTURE, svg)
