"""That an edited project file holds what is wanted and is otherwise what it was. Pure."""

from __future__ import annotations

from collections.abc import MutableMapping

from torchpick.decide.requested import named
from torchpick.environment.project.document import Node, list_of, parse, table_at
from torchpick.environment.project.settings import Path, ProjectSettings
from torchpick.errors import TorchpickError


def check(before: str, after: str, wanted: ProjectSettings, stale: set[Path]) -> None:
    """That the file holds what is wanted and that nothing else changed; the edit is refused otherwise."""
    new = parse(after).unwrap()
    for setting in wanted.settings:
        if table_at(new, *setting.path[:-1]).get(setting.path[-1]) != setting.value:
            raise _unsafe(".".join(setting.path))
    if _rest(parse(before).unwrap(), wanted, stale) != _rest(new, wanted, stale):
        raise _unsafe("another key")


def _unsafe(where: str) -> TorchpickError:
    hint = "put the lines in by hand: `torchpick extras` and `torchpick env` print theirs"
    return TorchpickError(f"this file cannot be edited without changing {where}", hint=hint, code="TOML")


def _rest(data: dict[str, Node], wanted: ProjectSettings, stale: set[Path]) -> dict[str, Node]:
    """The data without what is ours."""
    for setting in wanted.settings:
        _drop(data, setting.path)
    for path in stale:
        _drop(data, path)
    names = {entry.name for entry in wanted.entries}
    for path in wanted.arrays:
        there = list_of(table_at(data, *path[:-1]).get(path[-1]))
        kept = [each for each in there if isinstance(each, dict) and each.get("name") not in names]
        _drop(data, path)
        data[f"rest of {path}"] = [each for each in kept if not str(each.get("name")).startswith("pytorch-")]
    for addition in wanted.additions:
        values = list_of(table_at(data, *addition.path[:-1]).get(addition.path[-1]))
        mine = {named(each) for each in addition.values}
        data[f"rest of {addition.path}"] = [each for each in values if named(str(each)) not in mine]
    for path in wanted.joined:
        _drop(data, path)
    if wanted.apart:
        _drop(data, ("tool", "uv", "conflicts"))
    return data


def _drop(data: MutableMapping[str, Node], path: Path) -> None:
    """Take the key out, and the tables that are empty without it."""
    holder = data.get(path[0])
    if len(path) == 1:
        data.pop(path[0], None)
    elif isinstance(holder, dict):
        _drop(holder, path[1:])
        if not holder:
            del data[path[0]]
