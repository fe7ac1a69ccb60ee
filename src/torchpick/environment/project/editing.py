"""Write settings into a project file's text so that all else stays as it is: comments, order, blanks. Pure.

Ours is what carries the word torchpick in a comment; an earlier run's is replaced. What the author wrote is never
overwritten: where it says something else, that is a clash, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchpick.environment.project import joining, proof
from torchpick.environment.project.document import Node, inline, parse, plain
from torchpick.environment.project.settings import PIN, ArrayEntry, Path, ProjectSetting, ProjectSettings
from torchpick.errors import TorchpickError
from torchpick.model.names import normal
from torchpick.model.noun import Noun


class Clash(Noun):
    """A key that the author set to something else."""

    where: str
    theirs: str
    ours: str


def merged(text: str, wanted: ProjectSettings) -> tuple[str, tuple[Clash, ...]]:
    """The text with the settings in it, and where the author said otherwise; with a clash the text is as it was."""
    document = parse(text)
    clashes = tuple(_clashes(document, wanted))
    if clashes:
        return text, clashes
    stale = _edited(document, wanted)
    written = _spaced(document.as_string(), text)
    if stale and not wanted.settings:
        written = written.rstrip("\n") + "\n"
    proof.check(text, written, wanted, stale)
    return written, ()


def _edited(document: Node, wanted: ProjectSettings) -> set[Path]:
    """Put the settings into the document; returns where an earlier run's stood."""
    stale = _take_out_stale(document, wanted)
    for setting in wanted.settings:
        _put(document, setting, wanted.mark)
    for addition in wanted.additions:
        joining.add(_made(document, addition.path[:-1]), addition, wanted.mark)
    for entry in wanted.entries:
        _put_entry(document, entry, wanted.mark)
    if wanted.apart:
        joining.exclude(_made(document, ("tool", "uv")), wanted, stale)
    return stale


def _spaced(written: str, before: str) -> str:
    """One blank line above a table's header, where the library that edits leaves two or none."""
    for odd in ("\n\n\n[", "\n]\n["):
        if odd not in before:
            while odd in written:
                written = written.replace(odd, odd.replace("\n\n\n", "\n\n").replace("]\n[", "]\n\n["))
    return written if before.strip() else written.lstrip("\n")


def _clashes_in_lists(document: Node, wanted: ProjectSettings) -> Iterator[Clash]:
    for addition in wanted.additions:
        holder = _at(document, addition.path[:-1])
        theirs = joining.others(holder, addition, wanted.mark) if holder is not None else []
        if theirs:
            yield Clash(".".join(addition.path), ", ".join(theirs), ", ".join(addition.values))
    uv = _at(document, ("tool", "uv"))
    if uv is not None and (overrides := joining.overriding(uv, wanted)):
        yield Clash("tool.uv.override-dependencies", ", ".join(overrides), "without torch and its companions")


def _clashes(document: Node, wanted: ProjectSettings) -> Iterator[Clash]:
    yield from _clashes_in_lists(document, wanted)
    for setting in wanted.settings:
        holder = _at(document, setting.path[:-1])
        if holder is None or (item := _get(holder, setting.path[-1])) is None or _is_ours(item, wanted.mark):
            continue
        if plain(item) not in (setting.value, setting.holds):
            yield Clash(".".join(setting.path), inline(plain(item)), rendered(setting))
    for entry in wanted.entries:
        for there in _entries(document, entry.path):
            if _is_named(there, entry) and not _is_ours_entry(there, wanted.mark):
                said = {key: plain(value) for key, value in there.items()}
                if said != dict(entry.values):
                    yield Clash(f"{'.'.join(entry.path)}, name {entry.name}", str(said), str(dict(entry.values)))


def rendered(setting: ProjectSetting) -> str:
    """The value as it is written."""
    item = _item(setting)
    return str(item.as_string())


def _item(setting: ProjectSetting) -> Node:
    import tomlkit

    if isinstance(setting.value, list):
        comments = [f"    # {line}" for line in setting.comment]
        values = [f"    {inline(value)}," for value in setting.value]
        return tomlkit.parse("\n".join(["it = [", *comments, *values, "]\n"]))["it"]
    item = tomlkit.parse(f"it = {inline(setting.value)}\n")["it"]
    if setting.comment:
        item.comment("; ".join(setting.comment))
    return item


def _is_ours(item: Node, mark: str) -> bool:
    if isinstance(item, bool):  # tomlkit hands these out bare, and none of ours is one
        return False
    return _marked(item.as_string(), mark) or _marked(item.trivia.comment, mark)


def _is_ours_entry(entry: Node, mark: str) -> bool:
    name = _get(entry, "name")
    return name is not None and _marked(name.trivia.comment, mark)


def _is_named(there: Node, entry: ArrayEntry) -> bool:
    """Whether this is the entry's table; uv lets an index be without a name."""
    return normal(str(there.get("name", ""))) == normal(entry.name)


def _marked(text: str, mark: str) -> bool:
    """Whether the text carries this mark; the plain one is not that of `pin`."""
    return mark in (text if mark == PIN else text.replace(PIN, ""))


def _get(holder: Node, key: str) -> Node:
    return holder[key] if isinstance(holder, Mapping) and key in holder else None


def _at(document: Node, path: Path) -> Node:
    """The table there, or None; a value that is not a table is the author's mistake, and an error."""
    for depth, name in enumerate(path, start=1):
        if (document := _get(document, name)) is None:
            return None
        if not isinstance(document, Mapping):
            where = ".".join(path[:depth])
            raise TorchpickError(f"`{where}` must be a table", hint=f"make it one: `[{where}]`", code="TOML")
    return document


def _made(document: Node, path: Path, *, above: bool = False) -> Node:
    """The table there, made where it is missing; `above` where it will hold tables and nothing else."""
    import tomlkit

    whole = document
    for depth, name in enumerate(path, start=1):
        if name not in document:
            _check_room(whole, path[: depth - 1])
            between = above or depth < len(path)
            document[name] = tomlkit.table(is_super_table=True) if between else _apart(tomlkit.table())
        document = document[name]
    return document


def _apart(table: Node) -> Node:
    """With a blank line above its header."""
    table.trivia.indent = "\n"
    return table


def _check_room(document: Node, path: Path) -> None:
    """Refuse an inline table that tables or comments would have to go into."""
    from tomlkit.items import InlineTable

    for depth, name in enumerate(path, start=1):
        if (document := _get(document, name)) is None:
            return
        if isinstance(document, InlineTable):
            where = ".".join(path[:depth])
            raise TorchpickError(
                f"`{where}` is an inline table, which has no room for what is to be written",
                hint=f"write it as a table, `[{where}]`",
                code="TOML",
            )


def _put(document: Node, setting: ProjectSetting, mark: str) -> None:
    if not isinstance(setting.value, list):
        _check_room(document, setting.path[:-1])
    holder = _made(document, setting.path[:-1])
    there = _get(holder, setting.path[-1])
    if there is None:
        holder[setting.path[-1]] = _item(setting)
    elif setting.holds is not None and plain(there) == setting.holds:
        item = _item(setting)
        if not isinstance(there, Mapping):
            item.trivia.comment_ws, item.trivia.comment = there.trivia.comment_ws, there.trivia.comment
        holder[setting.path[-1]] = item
    elif _is_ours(there, mark) and (plain(there) != setting.value or not _same_comment(there, setting)):
        holder[setting.path[-1]] = _item(setting)


def _same_comment(item: Node, setting: ProjectSetting) -> bool:
    """Whether our comment is the same; that of a list stands in it, and what follows the list is the author's."""
    made = _item(setting)
    return bool(
        made.as_string() == item.as_string()
        and (isinstance(setting.value, list) or made.trivia.comment == item.trivia.comment)
    )


def _entries(document: Node, path: Path) -> list[Node]:
    holder = _at(document, path[:-1])
    found = None if holder is None else _get(holder, path[-1])
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        where = ".".join(path)
        raise TorchpickError(f"`{where}` must be an array of tables", hint=f"make it one: `[[{where}]]`", code="TOML")
    return list(found)


def _put_entry(document: Node, entry: ArrayEntry, mark: str) -> None:
    import tomlkit
    from tomlkit.items import AoT

    for there in _entries(document, entry.path):
        if _is_named(there, entry):
            for key, value in entry.values.items():
                if plain(there.get(key)) != value:
                    there[key] = value
            return
    table = tomlkit.table()
    for key, value in entry.values.items():
        table[key] = value
    table["name"].comment(mark)
    _check_room(document, entry.path[:-1])
    holder = _made(document, entry.path[:-1], above=True)
    if entry.path[-1] not in holder:
        holder[entry.path[-1]] = tomlkit.aot()
    if not isinstance(holder[entry.path[-1]], AoT):
        where = ".".join(entry.path)
        raise TorchpickError(
            f"`{where}` is a list of inline tables, which has no room for comments",
            hint=f"write them as tables, `[[{where}]]`",
            code="TOML",
        )
    holder[entry.path[-1]].append(_apart(table))


def _take_out_stale(document: Node, wanted: ProjectSettings) -> set[Path]:
    """Take out what an earlier run wrote and this one does not want; returns where that was."""
    kept = {setting.path for setting in wanted.settings}
    found: set[Path] = set()
    for path in wanted.joined:
        if (holder := _at(document, path[:-1])) is not None:
            joining.part(holder, path[-1], wanted.mark)
    for home in wanted.homes:
        holder = _at(document, home)
        if holder is not None:
            _prune(holder, home, (kept | set(wanted.joined)), found, wanted.mark)
    names = {normal(entry.name) for entry in wanted.entries}
    for path in wanted.arrays:
        holder = _at(document, path[:-1])
        places = [
            place
            for place, there in enumerate(_entries(document, path))
            if _is_ours_entry(there, wanted.mark) and normal(str(there["name"])) not in names
        ]
        for place in reversed(places):
            del holder[path[-1]][place]
        if places and not holder[path[-1]]:
            del holder[path[-1]]
    for home in (*wanted.homes, *(path[:-1] for path in wanted.arrays)):
        _drop_empty(document, home)
    return found


def _drop_empty(document: Node, path: Path) -> None:
    """Take out the tables that hold nothing any more, from the innermost on."""
    for depth in range(len(path), 0, -1):
        holder = _at(document, path[: depth - 1])
        here = None if holder is None else _get(holder, path[depth - 1])
        if holder is None or here is None or len(here) or here.as_string().strip():
            return
        del holder[path[depth - 1]]


def _prune(holder: Node, path: Path, kept: set[Path], found: set[Path], mark: str) -> None:
    """Take our keys out of this table and the tables in it, and the tables that are empty then."""
    from tomlkit.items import AoT, Table

    for name in list(holder):
        here, item = (*path, name), holder[name]
        if isinstance(item, Table):
            held = len(item)
            _prune(item, here, kept, found, mark)
            if held and not len(item):
                del holder[name]
        elif here not in kept and not isinstance(item, AoT) and _is_ours(item, mark):
            del holder[name]
            found.add(here)
