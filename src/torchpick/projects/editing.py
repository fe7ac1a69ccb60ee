"""Write settings into a project file's text so that all else stays as it is: comments, order, blanks. Pure.

Ours is what carries the word torchpick in a comment; an earlier run's is replaced. What the author wrote is never
overwritten: where it says something else, that is a clash, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping

from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun
from torchpick.projects.document import Node, list_of, parse, table_at
from torchpick.projects.settings import MARK, Entry, Path, Setting, Wanted
from torchpick.requirements import normal


class Clash(Noun):
    """A key that the author set to something else."""

    where: str
    theirs: str
    ours: str


def merged(text: str, wanted: Wanted) -> tuple[str, tuple[Clash, ...]]:
    """The text with the settings in it, and where the author said otherwise; with a clash the text is as it was."""
    document = parse(text)
    clashes = tuple(_clashes(document, wanted))
    if clashes:
        return text, clashes
    stale = _take_out_stale(document, wanted)
    for setting in wanted.settings:
        _put(document, setting)
    for entry in wanted.entries:
        _put_entry(document, entry)
    _put_together(document, wanted, stale)
    written = _spaced(document.as_string(), text)
    _prove(text, written, wanted, stale)
    return written, ()


def _spaced(written: str, before: str) -> str:
    """One blank line above a table's header, where the library that edits leaves two or none."""
    for odd in ("\n\n\n[", "\n]\n["):
        if odd not in before:
            while odd in written:
                written = written.replace(odd, odd.replace("\n\n\n", "\n\n").replace("]\n[", "]\n\n["))
    return written if before.strip() else written.lstrip("\n")


def _clashes(document: Node, wanted: Wanted) -> Iterator[Clash]:
    for setting in wanted.settings:
        holder = _at(document, setting.path[:-1])
        if holder is None or (item := _get(holder, setting.path[-1])) is None or _is_ours(item):
            continue
        if _plain(item) != setting.value:
            yield Clash(".".join(setting.path), item.as_string().strip(), rendered(setting))
    for entry in wanted.entries:
        for there in _entries(document, entry.path):
            if normal(str(there.get("name", ""))) == normal(entry.name) and not _is_ours_entry(there):
                theirs = {key: _plain(value) for key, value in there.items()}
                if theirs != dict(entry.values):
                    yield Clash(f"{'.'.join(entry.path)}, name {entry.name}", str(theirs), str(dict(entry.values)))


def rendered(setting: Setting) -> str:
    """The value as it is written."""
    item = _item(setting)
    return str(item.as_string())


def _item(setting: Setting) -> Node:
    import tomlkit

    if isinstance(setting.value, list):
        comments = [f"    # {line}" for line in setting.comment]
        values = [f"    {_inline(value)}," for value in setting.value]
        return tomlkit.parse("\n".join(["it = [", *comments, *values, "]\n"]))["it"]
    item = tomlkit.parse(f"it = {_inline(setting.value)}\n")["it"]
    if setting.comment:
        item.comment("; ".join(setting.comment))
    return item


def _inline(value: object) -> str:
    import tomlkit

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    return str(tomlkit.item(value).as_string())


def _is_ours(item: Node) -> bool:
    return MARK in item.as_string() or MARK in item.trivia.comment


def _is_ours_entry(entry: Node) -> bool:
    name = _get(entry, "name")
    return name is not None and MARK in name.trivia.comment


def _plain(item: Node) -> object:
    return item.unwrap() if hasattr(item, "unwrap") else item


def _get(holder: Node, key: str) -> Node:
    return holder[key] if isinstance(holder, Mapping) and key in holder else None


def _at(document: Node, path: Path) -> Node:
    """The table there, or None; a value that is no table is the author's mistake, and told."""
    for depth, name in enumerate(path, start=1):
        if (document := _get(document, name)) is None:
            return None
        if not isinstance(document, Mapping):
            where = ".".join(path[:depth])
            raise TorchpickError(f"`{where}` is no table", hint=f"make it one: `[{where}]`", code="TOML")
    return document


def _made(document: Node, path: Path, *, above: bool = False) -> Node:
    """The table there, made where it is missing; `above` where it will hold tables and nothing else."""
    import tomlkit

    for depth, name in enumerate(path, start=1):
        if name not in document:
            between = above or depth < len(path)
            document[name] = tomlkit.table(is_super_table=True) if between else _apart(tomlkit.table())
        document = document[name]
    return document


def _apart(table: Node) -> Node:
    """With a blank line above its header."""
    table.trivia.indent = "\n"
    return table


def _put(document: Node, setting: Setting) -> None:
    holder = _made(document, setting.path[:-1])
    there = _get(holder, setting.path[-1])
    if there is None or (_is_ours(there) and (_plain(there) != setting.value or not _same_comment(there, setting))):
        holder[setting.path[-1]] = _item(setting)


def _same_comment(item: Node, setting: Setting) -> bool:
    made = _item(setting)
    return bool(made.as_string() == item.as_string() and made.trivia.comment == item.trivia.comment)


def _entries(document: Node, path: Path) -> list[Node]:
    holder = _at(document, path[:-1])
    found = None if holder is None else _get(holder, path[-1])
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        where = ".".join(path)
        raise TorchpickError(f"`{where}` is no array of tables", hint=f"make it one: `[[{where}]]`", code="TOML")
    return list(found)


def _put_entry(document: Node, entry: Entry) -> None:
    import tomlkit

    for there in _entries(document, entry.path):
        if normal(str(there["name"])) == normal(entry.name):
            for key, value in entry.values.items():
                if _plain(there.get(key)) != value:
                    there[key] = value
            return
    table = tomlkit.table()
    for key, value in entry.values.items():
        table[key] = value
    table["name"].comment(MARK)
    holder = _made(document, entry.path[:-1], above=True)
    if entry.path[-1] not in holder:
        holder[entry.path[-1]] = tomlkit.aot()
    holder[entry.path[-1]].append(_apart(table))


def _take_out_stale(document: Node, wanted: Wanted) -> set[Path]:
    """Take out what an earlier run wrote and this one does not want; returns where that was."""
    kept = {setting.path for setting in wanted.settings}
    found: set[Path] = set()
    for home in wanted.homes:
        holder = _at(document, home)
        if holder is not None:
            _prune(holder, home, kept, found)
    names = {normal(entry.name) for entry in wanted.entries}
    for path in {entry.path for entry in wanted.entries}:
        holder = _at(document, path[:-1])
        places = [
            place
            for place, there in enumerate(_entries(document, path))
            if _is_ours_entry(there) and normal(str(there["name"])) not in names
        ]
        for place in reversed(places):
            del holder[path[-1]][place]
    return found


def _prune(holder: Node, path: Path, kept: set[Path], found: set[Path]) -> None:
    """Take our keys out of this table and the tables in it, and the tables that are empty then."""
    from tomlkit.items import Table

    for name in list(holder):
        here, item = (*path, name), holder[name]
        if isinstance(item, Table):
            held = len(item)
            _prune(item, here, kept, found)
            if held and not len(item):
                del holder[name]
        elif here not in kept and _is_ours(item):
            del holder[name]
            found.add(here)


def _put_together(document: Node, wanted: Wanted, stale: set[Path]) -> None:
    """The `conflicts` of uv: our names exclude each other. Sets of other names are the author's."""
    import tomlkit

    if not wanted.together:
        return
    ours = [{wanted.kind: name} for name in wanted.together]
    holder = _made(document, ("tool", "uv"))
    sets = _get(holder, "conflicts")
    if sets is None:
        lines = ["it = [", f"    # {MARK}", f"    [{', '.join(_inline(each) for each in ours)}],", "]"]
        holder["conflicts"] = tomlkit.parse("\n".join([*lines, ""]))["it"]
        return
    if not isinstance(sets, list):
        raise TorchpickError(
            "`tool.uv.conflicts` is no list", hint="see uv's documentation of `conflicts`", code="TOML"
        )
    names = {*wanted.together, *(path[-1] for path in stale)}
    for place in reversed(range(len(sets))):
        members = _plain(sets[place])
        mine = isinstance(members, list) and all(
            isinstance(each, dict) and set(each) == {wanted.kind} and each[wanted.kind] in names for each in members
        )
        if mine and members != ours:
            del sets[place]
    if ours not in [_plain(each) for each in sets]:
        sets.append(tomlkit.parse(f"it = [{', '.join(_inline(each) for each in ours)}]")["it"])


def _prove(before: str, after: str, wanted: Wanted, stale: set[Path]) -> None:
    """That the file holds what is wanted and that nothing else changed; the edit is refused otherwise."""
    new = parse(after).unwrap()
    for setting in wanted.settings:
        if table_at(new, *setting.path[:-1]).get(setting.path[-1]) != setting.value:
            raise _unsafe(".".join(setting.path))
    if _rest(parse(before).unwrap(), wanted, stale) != _rest(new, wanted, stale):
        raise _unsafe("another key")


def _unsafe(where: str) -> TorchpickError:
    hint = "run `torchpick extras` without `--write`, and put its lines in by hand"
    return TorchpickError(f"this file cannot be edited without changing {where}", hint=hint, code="TOML")


def _rest(data: dict[str, Node], wanted: Wanted, stale: set[Path]) -> dict[str, Node]:
    """The data without what is ours."""
    for setting in wanted.settings:
        _drop(data, setting.path)
    for path in stale:
        _drop(data, path)
    names = {entry.name for entry in wanted.entries}
    for path in {entry.path for entry in wanted.entries}:
        there = list_of(table_at(data, *path[:-1]).get(path[-1]))
        kept = [each for each in there if isinstance(each, dict) and each.get("name") not in names]
        _drop(data, path)
        data[f"rest of {path}"] = [each for each in kept if not str(each.get("name")).startswith("pytorch-")]
    if wanted.together:
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
