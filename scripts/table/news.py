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
from typing import Any

ROOT = Path(__file__).parents[2]
_UNREAD = ("cpu", "xpu")
# What is made anew from the rows and from the companions' own metadata.
_FOLLOWS = ("compat/companions.json", "compat/date.json", "compat/packages/torch.json")
_REQUIRES = "compat/requires.json"
Row = Mapping[str, object]


def main(_: Sequence[str]) -> int:
    names = _git("diff", "--cached", "--name-only", "--", "compat").split()
    releases = [name for name in names if Path(name).match("compat/torch-*.json")]
    known = all(name in releases or name.startswith((*_FOLLOWS, _REQUIRES)) for name in names)
    measured = releases and all(only_read(_rows("HEAD", name), _rows("", name)) for name in releases)
    if known and measured and only_added(*(_content(commit, _REQUIRES).get("releases", {}) for commit in ("HEAD", ""))):
        print("measured=yes")
    return 0


def only_added(before: Mapping[str, Row], after: Mapping[str, Row]) -> bool:
    """Whether every release still requires what it did."""
    return all(name in after and after[name]["plain"] == row["plain"] for name, row in before.items())


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
    rows: list[Row] = _content(commit, name).get("builds", [])
    return rows


def _content(commit: str, name: str) -> dict[str, Any]:
    """The content of a file; nothing where the commit does not have it."""
    if not _git(*(("ls-tree", "--name-only", commit) if commit else ("ls-files",)), "--", name):
        return {}
    found: dict[str, Any] = json.loads(_git("show", f"{commit}:{name}"))
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
