"""Lists of a project file that the author and torchpick share. Pure."""

from __future__ import annotations

import re

from torchpick.decide.requested import named
from torchpick.environment.project.document import Node, inline, list_of, plain, unmarked
from torchpick.environment.project.settings import Addition, Path, ProjectSettings
from torchpick.errors import TorchpickError
from torchpick.model.requirement import parsed
from torchpick.model.specifiers import admits


def add(holder: Node, addition: Addition, mark: str) -> None:
    """Put the values behind those of the author, each with the mark."""
    import tomlkit

    name = addition.path[-1]
    part(holder, name, mark)
    if name not in holder:
        holder[name] = tomlkit.parse("it = []\n")["it"]
    array: Node = holder[name]
    if not isinstance(plain(array), list):
        raise TorchpickError(f"`{'.'.join(addition.path)}` must be a list", hint="make it one", code="TOML")
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
    return [each for each in unmarked(array, mark) if named(each) in mine and each not in addition.values]


def overriding(holder: Node, wanted: ProjectSettings) -> list[str]:
    """The overrides of uv's that would undo what is to be written: they take the place of every requirement."""
    listed = [each for each in list_of(holder.get("override-dependencies")) if isinstance(each, str)]
    return [each for each in listed if named(each) in wanted.binding and not _allows(each, wanted.binding[named(each)])]


def _allows(override: str, version: str | None) -> bool:
    """Whether this very version may be held beside the override."""
    try:
        requirement = parsed(override)
        return version is not None and requirement.url is None and admits(str(requirement.specifier))(version)
    except ValueError:
        return False


def exclude(holder: Node, wanted: ProjectSettings, stale: set[Path]) -> None:
    """The `conflicts` of uv: our names exclude each other. Sets of other names are the author's."""
    import tomlkit

    ours = [[dict(member) for member in members] for members in wanted.apart]
    sets = holder.get("conflicts")
    if sets is None:
        lines = "".join(f"    {inline(members)},\n" for members in ours)
        holder["conflicts"] = tomlkit.parse(f"it = [\n    # {wanted.mark}\n{lines}]\n")["it"]
        return
    if not isinstance(sets, list):
        raise TorchpickError(
            "`tool.uv.conflicts` must be a list", hint="see uv's documentation of `conflicts`", code="TOML"
        )
    mine = [member for members in ours for member in members if wanted.kind in member]
    mine += [{wanted.kind: path[-1]} for path in stale]
    known = [*mine, *(member for members in ours for member in members)]
    for place in reversed(range(len(sets))):
        members = plain(sets[place])
        if isinstance(members, list) and members not in ours and all(member in known for member in members):
            del sets[place]
    there = [plain(members) for members in sets]
    for members in ours:
        if members not in there:
            sets.append(tomlkit.parse(f"it = {inline(members)}")["it"])
