"""Dependency groups of a pyproject.toml (PEP 735), as `--group [PATH:]NAME` of pip and uv names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from torchpick.environment import toml
from torchpick.errors import UsageError
from torchpick.model.noun import Noun
from torchpick.model.requirement import normal

_MOST_DEEP = 50


class GroupLine(Noun):
    """One requirement of a group, and where it stands."""

    text: str
    where: str


def read(named: Iterable[str], text_of: Callable[[str, str], str]) -> Iterator[GroupLine]:
    """The requirements of these groups, those that they include among them."""
    for word in named:
        path, name = _parts(word)
        table = _groups(path, word, text_of(path, f"--group {word}"))
        shown = min(os.path.relpath(path), path, key=len)
        for text in _texts(table, name, path, ()):
            yield GroupLine(text, f"{shown} group {name}")


def _parts(word: str) -> tuple[str, str]:
    """`dev` → the pyproject.toml here, `sub/pyproject.toml:dev` → that one."""
    path, mark, name = word.rpartition(":")
    path = path if mark else "pyproject.toml"
    return (os.path.join(path, "pyproject.toml") if os.path.isdir(path) else path), name


def _groups(path: str, word: str, text: str) -> Mapping[str, object]:
    try:
        table = toml.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", hint=f"check the path behind `--group {word}`") from error
    groups = table.get("dependency-groups")
    return {normal(name): value for name, value in groups.items()} if isinstance(groups, dict) else {}


def _texts(table: Mapping[str, object], name: str, path: str, within: tuple[str, ...]) -> Iterator[str]:
    key = normal(name)
    entries = table.get(key)
    if not isinstance(entries, list):
        there = ", ".join(table) or "none"
        raise UsageError(f"{path} has no dependency group `{name}`", hint=f"it has {there}")
    if key in within or len(within) >= _MOST_DEEP:
        raise UsageError(f"{path}: the dependency group `{name}` includes itself", hint="take that line out")
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            yield from _texts(table, entry["include-group"], path, (*within, key))
        else:
            raise UsageError(f"{path}: the dependency group `{name}` holds {entry!r}", hint="see PEP 735")
