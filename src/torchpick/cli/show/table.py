"""Tables for a terminal: columns as wide as needed, the last one cut to what is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from torchpick.cli.show.text import cut_mark, plain, wrap
from torchpick.model.pick import Pick
from torchpick.model.verdict import Reason, Verdict

# The last column holds sentences: with less room than this it goes below its row.
_LEAST = 24


def lines(rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """The rows aligned; with a width, every line fits into it, and a mark that stdout can print ends what was cut.

    Where that would leave too little of the last column, it stands wrapped below its row, in the same string.
    """
    cells = [[plain(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]) - 1)]
    if width is not None and width - sum(widths) - 2 * len(widths) < _LEAST:
        return [_stacked(row, widths, width) for row in cells]
    mark, found = cut_mark(sys.stdout.encoding), []
    for row in cells:
        start = "".join(f"{cell.ljust(wide)}  " for cell, wide in zip(row, widths, strict=False))
        line = (start + row[-1]).rstrip()
        found.append(line if width is None or len(line) <= width else line[: max(width - len(mark), 1)] + mark)
    return found


def headed(rows: Iterable[Sequence[str]], width: int | None, bold: Callable[[str], str]) -> str:
    """The rows aligned, the first of them in bold."""
    head, *rest = lines(rows, width)
    return "\n".join([bold(head), *rest])


def _stacked(row: Sequence[str], widths: Sequence[int], width: int) -> str:
    """The row in columns, as far as they fit, and its last cell in lines of its own."""
    aligned = "  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=False)).rstrip()
    head = [aligned] if len(aligned) <= width else wrap("  ".join(row[:-1]), width)
    return "\n".join([*head, *(f"  {part}" for part in wrap(row[-1], max(width - 4, 1)) if part)])


def shortlist(pick: Pick) -> tuple[Verdict, ...]:
    """The builds a person asked about: of the machine's own family, and not ruled out by the request itself."""
    ruled_out = {Reason.NOT_REQUESTED, Reason.BACKEND_NOT_ALLOWED}
    return tuple(each for each in pick.considered if each.ok or (each.rank.suits == 2 and not ruled_out & each.reasons))


def builds(pick: Pick, shown: tuple[Verdict, ...], width: int | None, bold: Callable[[str], str] = str) -> str:
    """These builds, best first, the pick in bold."""
    all_platforms = len({verdict.build.platform for verdict in shown}) > 1
    head = ("torch", "backend", *(("platform",) if all_platforms else ()), "CUDA", "verdict", "why")
    rows = [head] + [_row(verdict, all_platforms) for verdict in shown]
    printed = lines(rows, width)
    chosen = pick.verdicts[0].build if pick.ok else None
    for place, verdict in enumerate(shown, start=1):
        if verdict.build is chosen:
            printed[place] = bold(printed[place])
    return "\n".join([bold(printed[0]), *printed[1:]])


def _row(verdict: Verdict, all_platforms: bool) -> tuple[str, ...]:
    build = verdict.build
    platform = (build.platform,) if all_platforms else ()
    if verdict.ok:
        worst = min(verdict.fits, key=lambda each: each.fit, default=None)
        word, why = "runs", "" if worst is None else f"{worst.fit.word} by {worst.via}"
    else:
        word, why = verdict.objections[0].code, verdict.objections[0].text
        if len(verdict.objections) > 1:
            why += f" (and {len(verdict.objections) - 1} more)"
    return (build.torch, build.backend, *platform, build.cuda or "-", word, why)
