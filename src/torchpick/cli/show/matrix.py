"""Which PyTorch runs on which GPU as a table for a terminal: a line a release, a column for GPUs that fare alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchpick.cli.show.text import plain
from torchpick.decide.matrix import Row
from torchpick.model.arch import Fit
from torchpick.model.generations import kind_of
from torchpick.model.noun import Noun
from torchpick.model.verdict import Verdict

Paint = Callable[[str], str]
_GAP = "  "


class Column(Noun):
    """GPUs that stand beside each other and fare alike with every release: what stands above, and a word a release."""

    heads: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(len, (*self.heads, *self.words)))


def text(rows: Sequence[Row], releases: Sequence[str], width: int | None, bold: Paint = str) -> str:
    """The table, in several blocks one below the other where the width is too small for one."""
    if not rows or not releases:
        return "no release is within what was asked for"
    first = Column(("torch",), _running(rows, releases))
    blocks = []
    for columns in _blocks(_columns(rows, first.words), first.width, width):
        block = (first, *columns)
        deep = max(len(column.heads) for column in columns)
        heads = [bold(_line([_padded(column.heads, place, column) for column in block])) for place in range(deep)]
        words = [_line([_padded(column.words, place, column) for column in block]) for place in range(len(first.words))]
        blocks.append("\n".join([*heads, *words]))
    older = releases[len(first.words) :]
    if older:
        blocks.append(f"{older[0]} and older: none runs")
    return "\n\n".join([*blocks, *_legend(rows)])


def _running(rows: Sequence[Row], releases: Sequence[str]) -> tuple[str, ...]:
    """The releases up to the oldest that runs anywhere; all of them where none does."""
    runs = {cell.torch for row in rows for cell in row.cells if cell.best is not None}
    last = max((place for place, torch in enumerate(releases, start=1) if torch in runs), default=len(releases))
    return tuple(releases[:last])


def _columns(rows: Sequence[Row], releases: Sequence[str]) -> list[Column]:
    found: list[Column] = []
    for row in rows:
        by_release = {cell.torch: _word(cell.best) for cell in row.cells}
        words = tuple(by_release.get(torch, "-") for torch in releases)
        head = _head(row)
        if found and found[-1].words == words:
            found[-1] = found[-1]._replace(heads=(*found[-1].heads, head))
        else:
            found.append(Column((head,), words))
    return found


def _head(row: Row) -> str:
    return plain(row.gpu.name or str(row.gpu.arch or row.gpu.label))


def _word(best: Verdict | None) -> str:
    if best is None:
        return "-"
    return best.build.backend + ("*" if any(each.fit is Fit.JIT for each in best.fits) else "")


def _blocks(columns: Sequence[Column], start: int, width: int | None) -> list[list[Column]]:
    """The columns in as few blocks as the width allows."""
    blocks: list[list[Column]] = [[]]
    used = start
    for column in columns:
        need = len(_GAP) + column.width
        if blocks[-1] and width is not None and used + need > width:
            blocks.append([])
            used = start
        blocks[-1].append(column)
        used += need
    return blocks


def _padded(values: tuple[str, ...], place: int, column: Column) -> str:
    return (values[place] if place < len(values) else "").ljust(column.width)


def _line(cells: Sequence[str]) -> str:
    return _GAP.join(cells).rstrip()


def _legend(rows: Sequence[Row]) -> list[str]:
    kinds = [_Line(_head(row), *_about(row)) for row in rows]
    wide = [max(len(line[place]) for line in kinds) for place in range(3)]
    gpus = [_GAP.join(cell.ljust(size) for cell, size in zip(line, (*wide, 0), strict=True)).rstrip() for line in kinds]
    marks = ["-  no build of that release runs there; `torchpick list --gpu …` says why"]
    if any(fit.fit is Fit.JIT for row in rows for cell in row.cells if cell.best for fit in cell.best.fits):
        marks.append("*  the driver compiles its code at first use")
    return ["\n".join(gpus), "\n".join(marks)]


class _Line(Noun):
    head: str
    generation: str
    driver: str
    examples: str


def _about(row: Row) -> tuple[str, str, str]:
    """Generation, driver and a few products."""
    kind = kind_of(row.gpu.arch)
    driver = ""
    if row.driver is not None:
        driver = f"driver {row.driver.version or 'for CUDA ' + (row.driver.cuda or '?')}"
        driver += ", the newest that supports it" if row.driver.source == "assumed" else ""
    if kind is None:
        return "", driver, ""
    return kind.generation, driver, str(row.gpu.arch) if row.gpu.name else ", ".join(kind.examples)
