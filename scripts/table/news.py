"""Say whether what changed in compat/ may be merged unseen: rows read out of wheels were added, and nothing else.

A row that was declared may have become a measured one, where its wheel holds the code that was declared.

A build for the CPU or XPU has no code for CUDA or ROCm, so there is nothing to read in it: being listed is enough.
Prints `measured=yes` where that holds, and nothing where a person has to look. What git has staged is compared with
HEAD.

usage: scripts/judge-news
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_UNREAD = ("cpu", "xpu")
# What is made anew from the rows and from the companions' own metadata.
_FOLLOWS = ("compat/companions.json", "compat/date.json", "compat/packages/torch.json", "compat/requires.json")
Row = Mapping[str, object]


def main(_: Sequence[str]) -> int:
    names = _git("diff", "--cached", "--name-only", "--", "compat").split()
    releases = [name for name in names if Path(name).match("compat/torch-*.json")]
    known = all(name in releases or name.startswith(_FOLLOWS) for name in names)
    if releases and known and all(only_read(_rows("HEAD", name), _rows("", name)) for name in releases):
        print("measured=yes")
    return 0


def only_read(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """Whether every old row is there as it was, or was read since, and every new one was read or has none to read."""
    new = [row for row in after if row not in before]
    kept = [row for row in before if row in after or any(_code(row) == _code(other) for other in new)]
    return len(kept) == len(before) and all(_is_read(row) for row in new)


def _code(row: Row) -> tuple[object, ...]:
    return tuple(row.get(key) for key in ("backend", "platform", "version", "arches", "published", "yanked"))


def _is_read(row: Row) -> bool:
    evidence = row["evidence"]
    return row["backend"] in _UNREAD or (isinstance(evidence, Mapping) and evidence["kind"] == "measured")


def _rows(commit: str, name: str) -> list[Row]:
    """The rows of a file; none where the commit does not have it."""
    if commit and not _git("ls-tree", "--name-only", commit, "--", name):
        return []
    if not commit and not _git("ls-files", "--", name):
        return []
    found: list[Row] = json.loads(_git("show", f"{commit}:{name}"))["builds"]
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
