"""What a project file says of torch; and lines of ours put into it and taken out, so that every byte of theirs stays.

In TOML a line of ours ends with a comment that holds our mark; an earlier run's lines are replaced. What the author
wrote is never changed: where it says something else, nothing is written. In a pip.conf ours are a section of their own.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from torchpick.environment import toml, uvsources
from torchpick.environment.requirementfiles import requirement
from torchpick.errors import TorchpickError
from torchpick.model.versions import named, normal, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement

Path = tuple[str, ...]
# What `extras` writes, and what `pin` does: neither takes out what the other one wrote.
MARK = "torchpick"
PIN = f"{MARK} pin"
_OVERRIDES = ("tool", "uv", "override-dependencies")
SOURCES, CONFLICTS = ("tool", "uv", "sources"), ("tool", "uv", "conflicts")


class Project(NamedTuple):
    """What a project says of itself, as far as torch is concerned.

    `dependencies` are what everybody installs with it, `requirements` all that a lock of it has to hold at once.
    `chooses`: by an extra or a group of its own torch is taken from one index or another, which is for a checkout.
    """

    requires_python: str = ""
    packaged: bool = True
    dependencies: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    chooses: bool = False
    torch: str = ""


class ProjectSetting(NamedTuple):
    """One key and its value, with lines of a comment above it; `amends`: what the author has there is part of it."""

    path: Path
    value: Any
    comment: tuple[str, ...] = ()
    amends: bool = False


class ProjectSettings(NamedTuple):
    """Everything of ours that a file should hold, under its mark: keys, and tables of arrays, known by their names.

    `binding` are the projects whose requirements must hold in uv, so that no override may take their place.
    """

    settings: tuple[ProjectSetting, ...] = ()
    entries: tuple[ProjectSetting, ...] = ()
    mark: str = MARK
    binding: frozenset[str] = frozenset()


def read_project(text: str, what: str = "it") -> Project:
    """What the file says of itself; whatever is not of the form it must have counts as not said."""
    data = toml.read(remove_settings(remove_settings(text, PIN), MARK), what)
    if "project" not in data and toml.table_at(data, "tool", "poetry"):
        hint = "Poetry 2 reads [project]: move name, version and dependencies there"
        raise TorchpickError(f"{what} has no [project] table", hint=hint, code="TOML")
    about, uv = toml.table_at(data, "project"), toml.table_at(data, "tool", "uv")
    return Project(
        requires_python=str(about.get("requires-python") or ""),
        packaged="build-system" in data and uv.get("package") is not False,
        dependencies=tuple(toml.texts(about.get("dependencies"))),
        requirements=_requirements(data),
        chooses=uvsources.chooses(_value(toml.read(text, what), (*SOURCES, "torch"))),
    )


def read_requirements(text: str, what: str = "it") -> tuple[str, ...]:
    """All that a lock of the project has to hold at once: its dependencies, extras and groups.

    With them is what uv's constraints allow of torch. Left out are those that conflict, which no lock installs
    together, and what has a place of its own (a member of the workspace, a path, a repository).
    """
    return _requirements(toml.read(remove_settings(remove_settings(text, PIN), MARK), what))


def _requirements(data: Mapping[str, Any]) -> tuple[str, ...]:
    about, uv = toml.table_at(data, "project"), toml.table_at(data, "tool", "uv")
    conflicts = uv.get("conflicts")
    apart = {
        normal(str(name))
        for group in (conflicts if isinstance(conflicts, list) else ())
        for item in toml.tables(group)
        for name in item.values()
    }
    sources = toml.table_at(uv, "sources")
    placed = {normal(name) for name, source in sources.items() if any("index" not in it for it in toml.tables(source))}
    tables = (toml.table_at(about, "optional-dependencies"), toml.table_at(data, "dependency-groups"))
    more = [texts for table in tables for name, texts in table.items() if normal(name) not in apart]
    lists = (about.get("dependencies"), *more, uv.get("dev-dependencies"))
    own = normal(str(about.get("name", "")))
    requirements = dict.fromkeys(text for texts in lists for text in toml.texts(texts))
    needs = (text for text in requirements if named(text) not in {"", own, *placed})
    return (*needs, *_limits(toml.texts(uv.get("constraint-dependencies"))))


def _limits(constraints: Iterable[str]) -> Iterator[str]:
    for text in constraints:
        with suppress(ValueError):  # uv says what is wrong with it
            if named(text) == "torch" and parsed(text).specifier:
                yield text


def parse_requirement(text: str) -> Requirement:
    """The requirement of a file that a person has to fix where it is none."""
    try:
        return parsed(text)
    except ValueError as error:
        raise TorchpickError(f"`{text}` is not a valid requirement: {error}", hint="fix it first") from error


def torch_range(requirements: Iterable[str]) -> str:
    """The specifier of a library's own torch; requirements with markers say it for some machines only."""
    parts: list[str] = []
    for text in requirements:
        if named(text) != "torch":
            continue
        valid = parse_requirement(text)
        if valid.url or valid.marker:
            what = "URL" if valid.url else "marker"
            hint = 'give the range: `torchpick extras "torch>=2.5"`'
            raise TorchpickError(f"`{text}` has a {what}, so it is not a range for every machine", hint=hint)
        parts += sorted(map(str, valid.specifier), key=lambda part: (part.startswith("<"), part))
    return ",".join(parts)


def settings_of_pins(
    pins: Mapping[str, str], index: Mapping[str, object] | None, links: ProjectSetting | None, marker: str = ""
) -> ProjectSettings:
    """A project of uv's, or a script's own block, pinned to one build: whatever is added, locked or installed in it.

    `links` is for what names no index itself: `uv pip`, and what requires torch. Without an `index` the project's own
    have the build. Where there is a `marker`, all of it holds under that alone.
    """
    uv = ("tool", "uv")
    limits = [requirement(name, f"=={version}", marker=marker) for name, version in pins.items()]
    settings = [ProjectSetting((*uv, "constraint-dependencies"), limits), *([links] if links else [])]
    entries = []
    if index is not None:
        source: object = [{"index": index["name"], "marker": marker}] if marker else {"index": index["name"]}
        settings += [ProjectSetting((*uv, "sources", name), source) for name in pins]
        entries = [ProjectSetting((*uv, "index"), index)]
    return ProjectSettings(tuple(settings), tuple(entries), PIN, frozenset(pins))


def add_settings(text: str, wanted: ProjectSettings, file: str) -> str:
    """The text with the settings in it; an error where the author says otherwise, or they cannot be added.

    What uv takes from an index of the author's stays on the systems that ours leave: such a line becomes a comment,
    which `remove_settings` takes up again.
    """
    theirs = remove_settings(text, wanted.mark)
    data = toml.read(theirs, file)
    wanted = _by_their_indexes(data, wanted)
    settings = [_beside_theirs(data, setting) for setting in wanted.settings]
    wanted = wanted._replace(settings=tuple(settings))
    if clashes := "; ".join(_clashes(data, wanted)):
        hint = "nothing was written: write ours there by hand, or take those lines out"
        raise TorchpickError(f"{file} says otherwise: {clashes}", hint=hint, code="CLASH")
    changed = [setting for setting in settings if setting.amends and _value(data, setting.path) != setting.value]
    before = theirs
    for setting in changed:
        before = _set_aside(before, setting.path, wanted.mark)
    missing = wanted._replace(
        settings=tuple(setting for setting in settings if setting in changed or _value(data, setting.path) is None),
        entries=tuple(entry for entry in wanted.entries if _namesake(data, entry) is None),
    )
    after = _insert(before, missing)
    if not (remove_settings(after, wanted.mark) == theirs and _is_in(after, missing)):
        tables = {".".join(setting.path[:-1]) for setting in missing.settings}
        tables |= {".".join(entry.path) for entry in missing.entries}
        hint = f"write {', '.join(sorted(tables))} as tables of their own in it, `[…]`, or ours in by hand"
        raise TorchpickError(f"{file} cannot be added to without changing what it says", hint=hint, code="TOML")
    return after


def _by_their_indexes(data: Mapping[str, Any], wanted: ProjectSettings) -> ProjectSettings:
    """Ours by the names that the author gives to the same indexes."""
    names = {}
    for entry in wanted.entries:
        for table in toml.tables(_value(data, entry.path)):
            if str(table.get("url", "")).rstrip("/") == entry.value["url"]:
                names[entry.value["name"]] = table.get("name")
    names = {ours: theirs for ours, theirs in names.items() if isinstance(theirs, str)}
    if not names:
        return wanted

    def renamed(value: object) -> object:
        if isinstance(value, list):
            return list(map(renamed, value))
        if not isinstance(value, Mapping):
            return value
        return {key: names.get(name, name) if key in ("index", "source") else name for key, name in value.items()}

    settings = tuple(setting._replace(value=renamed(setting.value)) for setting in wanted.settings)
    entries = tuple(entry for entry in wanted.entries if entry.value["name"] not in names)
    return wanted._replace(settings=settings, entries=entries)


def _beside_theirs(data: Mapping[str, Any], setting: ProjectSetting) -> ProjectSetting:
    """The setting with what the author has there, where uv takes both."""
    theirs = _value(data, setting.path)
    if theirs is None:
        return setting
    value: object = None
    if setting.path[:-1] == SOURCES:
        value = uvsources.merged(theirs, setting.value)
    elif setting.path == CONFLICTS and isinstance(setting.value, list):
        value = uvsources.merged_conflicts(theirs, setting.value)
    return setting if value is None else setting._replace(value=value, amends=True)


# An entry of a table, or a table of its own, that somebody wrote: longer ones are not looked for.
_MOST_LINES = 40
_MOST_TRIES = 400


def _set_aside(text: str, path: Path, mark: str) -> str:
    """The text with the author's lines of this key as comments; as it is where they cannot be told apart."""
    lines, without = text.splitlines(keepends=True), _without(toml.loads(text), path)
    starts = [number for number, line in enumerate(lines) if path[-1] in line and not line.lstrip().startswith("#")]
    parts = ((start, end) for start in starts for end in range(start + 1, min(start + _MOST_LINES, len(lines)) + 1))
    for start, end in islice(parts, _MOST_TRIES):
        with suppress(ValueError):
            if _without(toml.loads("".join((*lines[:start], *lines[end:]))), path, exact=True) == without:
                theirs = (f"# {mark} was: {line}" for line in lines[start:end])
                return "".join((*lines[:start], *theirs, *lines[end:]))
    return text


def _without(data: Mapping[str, Any], path: Path, *, exact: bool = False) -> Mapping[str, Any] | None:
    """The data less this key, and less a table that is empty then; with `exact` None where it has the key."""
    name, *below = path
    inner = data.get(name)
    rest = {key: value for key, value in data.items() if key != name}
    if not below or not isinstance(inner, Mapping):
        return None if exact and inner is not None else rest
    left = _without(inner, tuple(below), exact=exact)
    if left is None:
        return None
    return {**rest, name: left} if left else rest


def remove_settings(text: str, mark: str) -> str:
    """The text without the lines of this mark; a header stays where somebody wrote a key of their own under it."""
    if mark not in text:
        return text
    last = "" if text.endswith("\n") else "\n"
    end = rf"[ \t]*# {re.escape(mark)}$"
    text = re.sub(rf"(?m)^(?![ \t]*\[).*# {re.escape(mark)}$\n?", "", text)
    text = re.sub(rf"(?m)^# {re.escape(mark)}: .*\n?", "", text)
    text = re.sub(rf"(?m)^\n?\[.*\]{end}\n?(?=(?:[ \t]*(?:#.*)?\n)*[ \t]*(?:\[|\Z))", "", text)
    text = re.sub(rf"(?m)^# {re.escape(mark)} was: ", "", text)
    return re.sub(rf"(?m)^(\[.*\]){end}", r"\1", text).removesuffix(last)


def _clashes(data: Mapping[str, Any], wanted: ProjectSettings) -> Iterator[str]:
    """What the author set to something else, and what ours would be."""
    for setting in wanted.settings:
        theirs, ours = _value(data, setting.path), setting.value
        if theirs is not None and not (setting.amends or _covers(theirs, ours)):
            yield f"{'.'.join(setting.path)} is {toml.inline(theirs)} and would be {toml.inline(ours)}"
    for entry in wanted.entries:
        namesake = _namesake(data, entry)
        if namesake is not None and namesake != entry.value:
            yield f"{'.'.join(entry.path)} has {toml.inline(namesake)} and would have {toml.inline(entry.value)}"
    # uv puts an override in the place of every requirement.
    for override in toml.texts(_value(data, _OVERRIDES)):
        if named(override) in wanted.binding:
            yield f"{'.'.join(_OVERRIDES)} has {toml.inline(override)}"


def _covers(theirs: object, ours: object) -> bool:
    """Whether the author says the same; of a list, whether ours is in it."""
    if isinstance(theirs, list) and isinstance(ours, list):
        return all(item in theirs for item in ours)
    return theirs == ours


def _value(data: Mapping[str, Any], path: Path) -> object:
    return toml.table_at(data, *path[:-1]).get(path[-1])


def _namesake(data: Mapping[str, Any], entry: ProjectSetting) -> Mapping[str, Any] | None:
    """The author's entry of this name; uv lets an index be without one."""
    name, tables = normal(str(entry.value["name"])), toml.tables(_value(data, entry.path))
    return next((table for table in tables if normal(str(table.get("name", ""))) == name), None)


def _is_in(text: str, wanted: ProjectSettings) -> bool:
    """Whether the text is TOML that says all of this: what looks like a header may be part of a string."""
    try:
        data = toml.loads(text)
    except ValueError:
        return False
    settings = all(_value(data, setting.path) == setting.value for setting in wanted.settings)
    return settings and all(_namesake(data, entry) == entry.value for entry in wanted.entries)


def _insert(text: str, wanted: ProjectSettings) -> str:
    """The text with all of this in it: under the headers that are there, and in new tables at the end of the file."""
    mark = f" # {wanted.mark}\n"
    tables: dict[str, list[str]] = {}
    for setting in wanted.settings:
        comment = [f"# {wanted.mark}: {line}\n" for line in setting.comment]
        line = f"{toml.key(setting.path[-1])} = {toml.inline(setting.value)}{mark}"
        tables.setdefault(f"[{_dotted(setting.path[:-1])}]", []).extend((*comment, line))
    after = text if not text or text.endswith("\n") else f"{text}\n"
    for header, lines in tables.items():
        match = re.search(rf"(?m)^[ \t]*{re.escape(header)}[ \t]*(?:#.*)?\r?\n", after)
        end = match.end() if match else len(after)
        above = [] if match else [*(["\n"] if after else []), header + mark]
        after = after[:end] + "".join((*above, *lines)) + after[end:]
    for entry in wanted.entries:
        values = [f"{toml.key(name)} = {toml.inline(value)}{mark}" for name, value in entry.value.items()]
        after += "".join((*(["\n"] if after else []), f"[[{_dotted(entry.path)}]]{mark}", *values))
    return after if not text or text.endswith("\n") else after.removesuffix("\n")  # so that it can be taken out


def _dotted(path: Path) -> str:
    return ".".join(map(toml.key, path))


# Ours stand in the section that pip has for its variables, and reads from files too (22.2 to 26): it is stronger than
# what the rest of the file says of the same options, so that all of that stays as it is. Pip's own editor drops the
# comment and moves the section.
_SECTION = f"[:env:] # {PIN}, taken out by `torchpick unpin`\n"
_PINNED = re.compile(r"(?m)^\[:env:\].*\n(?:(?:find-links|constraint) ?=.*\n(?:[ \t]+\S.*\n)*)*")


def pin_conf(text: str, options: Mapping[str, tuple[str, ...]]) -> str:
    before = unpin_conf(text)
    whole = not before or before.endswith("\n")
    ours = "".join(f"{name} =\n" + "".join(f"    {word}\n" for word in words) for name, words in options.items())
    after = f"{before}{'' if whole else chr(10)}{_SECTION}{ours}"
    return after if whole else after.removesuffix("\n")  # so that it can be taken out


def unpin_conf(text: str) -> str:
    """The text as it was before it was pinned, with whatever has been added to it since."""
    last = "" if text.endswith("\n") else "\n"
    ours = text.rfind("/torchpick/")
    before = _PINNED.sub(lambda section: section[0] if section.start() > ours else "", text + last)
    return before.removesuffix(last)
