"""Lists of a project file that the author and torchpick share. Pure."""

from __future__ import annotations

import re

from torchpick.errors import TorchpickError
from torchpick.projects.document import Node, inline, list_of, plain
from torchpick.projects.settings import Addition, Path, Wanted
from torchpick.requirements import named


def add(holder: Node, addition: Addition, mark: str) -> None:
    """Put the values behind those of the author, each with the mark."""
    import tomlkit

    name = addition.path[-1]
    part(holder, name, mark)
    if name not in holder:
        holder[name] = tomlkit.parse("it = []\n")["it"]
    array: Node = holder[name]
    if not isinstance(plain(array), list):
        raise TorchpickError(f"`{'.'.join(addition.path)}` is no list", hint="make it one", code="TOML")
    one_line = "\n" not in array.as_string()
    for value in addition.values:
        array.add_line(value, indent="    ", comment=mark)
    if one_line:
        array.add_line(indent="")


def part(holder: Node, name: str, mark: str) -> None:
    """Take out the values that carry the mark, and the list where nothing else was in it."""
    import tomlkit

    array: Node = holder.get(name)
    if not isinstance(plain(array), list) or mark not in array.as_string():
        return
    lines = array.as_string().splitlines(keepends=True)
    text = "".join(line for line in lines if mark not in line)
    text = re.sub(r"^(\[[^\n]*?),?\n\]$", r"\1]", text)
    new = tomlkit.parse(f"it = {text}\n")["it"]
    if len(new):
        holder[name] = new
    else:
        del holder[name]


def others(holder: Node, addition: Addition, mark: str) -> list[str]:
    """What the author says of the same projects in that list."""
    mine = {named(value) for value in addition.values}
    array = holder.get(addition.path[-1])
    if array is None:
        return []
    lines = array.as_string().splitlines() if hasattr(array, "as_string") else []
    marked = " ".join(line for line in lines if mark in line)
    values = [each for each in list_of(array) if isinstance(each, str) and each not in marked]
    return [each for each in values if named(each) in mine and each not in addition.values]


def exclude(holder: Node, wanted: Wanted, stale: set[Path]) -> None:
    """The `conflicts` of uv: our names exclude each other. Sets of other names are the author's."""
    import tomlkit

    ours = [{wanted.kind: name} for name in wanted.together]
    line = inline(ours)
    sets = holder.get("conflicts")
    if sets is None:
        holder["conflicts"] = tomlkit.parse(f"it = [\n    # {wanted.mark}\n    {line},\n]\n")["it"]
        return
    if not isinstance(sets, list):
        raise TorchpickError(
            "`tool.uv.conflicts` is no list", hint="see uv's documentation of `conflicts`", code="TOML"
        )
    names = {*wanted.together, *(path[-1] for path in stale)}
    for place in reversed(range(len(sets))):
        members = plain(sets[place])
        mine = isinstance(members, list) and all(
            isinstance(each, dict) and set(each) == {wanted.kind} and each[wanted.kind] in names for each in members
        )
        if mine and members != ours:
            del sets[place]
    if ours not in [plain(each) for each in sets]:
        sets.append(tomlkit.parse(f"it = {line}")["it"])
