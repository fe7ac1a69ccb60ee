"""Which changes are tried: all of them, or a sample; without those that nobody can notice.

`equivalent.json` lists the latter with the reason why the program does the same with them. They count neither as
noticed nor as unnoticed. Each is known by its file, the line as it stands and the words of the change: it is found
wherever the line moves to, and no longer once the line is another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.mutation import mutants
from scripts.mutation.mutants import Mutant

EQUIVALENT = Path(__file__).with_name("equivalent.json")


class Named(NamedTuple):
    """A change as it is listed: the file below the package, the line, and what is changed in it."""

    file: str
    line: str
    change: str


def equivalent() -> dict[Named, str]:
    """What nobody can notice, and why."""
    entries = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {
        Named(entry["file"], entry["line"], change): entry["reason"] for entry in entries for change in entry["changes"]
    }


def named(path: Path, mutant: Mutant) -> Named:
    return Named(path.as_posix().rpartition("src/torchpick/")[2], mutant.text, mutant.change)


def drawn(lines: Mapping[Path, set[int] | None], sample: int | None, seed: int) -> dict[Path, list[Mutant]]:
    """The mutants of each module: on these lines, or everywhere; with `sample` only so many of them all."""
    listed = equivalent()
    mutations = [
        (path, mutant)
        for path, wanted in sorted(lines.items())
        for mutant in mutants.of(path.read_text(encoding="utf-8"))
        if (wanted is None or mutant.line in wanted) and named(path, mutant) not in listed
    ]
    if sample is not None:
        first = sorted(mutations, key=lambda each: _lot(seed, *each))[:sample]
        mutations = sorted(first, key=lambda each: (each[0], each[1].place))
    chosen: dict[Path, list[Mutant]] = {}
    for path, mutant in mutations:
        chosen.setdefault(path, []).append(mutant)
    return chosen


def _lot(seed: int, path: Path, mutant: Mutant) -> bytes:
    """What a change draws: the same wherever its line moves to, and whatever is changed elsewhere."""
    return hashlib.sha256("\n".join((str(seed), *named(path, mutant))).encode()).digest()
