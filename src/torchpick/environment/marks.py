"""Lines of ours in somebody's TOML or pip.conf, put in and taken out so that every byte of theirs stays. Pure.

In TOML a line of ours ends with a comment that holds our mark; an earlier run's lines are replaced. What the author
wrote is never changed: where it says something else, nothing is written. In a pip.conf ours are a section of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torchpick.environment import toml
from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun
from torchpick.model.versions import named, normal

Path = tuple[str, ...]
# What `extras` writes, and what `pin` does: neither takes out what the other one wrote.
MARK = "torchpick"
PIN = f"{MARK} pin"
_OVERRIDES = ("tool", "uv", "override-dependencies")


class ProjectSetting(Noun):
    """One key and its value, with lines of a comment above it."""

    path: Path
    value: object
    comment: tuple[str, ...] = ()


class ArrayEntry(Noun):
    """One table of an array of tables, known by its name."""

    path: Path
    values: Mapping[str, object]


class ProjectSettings(Noun):
    """Everything of ours that a file should hold, under its mark.

    `binding` are the projects whose requirements must hold in uv, so that no override may take their place.
    """

    settings: tuple[ProjectSetting, ...] = ()
    entries: tuple[ArrayEntry, ...] = ()
    mark: str = MARK
    binding: frozenset[str] = frozenset()


def merged(text: str, wanted: ProjectSettings, file: str) -> str:
    """The text with the settings in it; an error where the author says otherwise, or they cannot be added."""
    theirs = without(text, wanted.mark)
    data = toml.read(theirs, file)
    if said := "; ".join(_clashes(data, wanted)):
        hint = "nothing was written: write ours there by hand, or take those lines out"
        raise TorchpickError(f"{file} says otherwise: {said}", hint=hint, code="CLASH")
    missing = wanted._replace(
        settings=tuple(one for one in wanted.settings if _value(data, one.path) is None),
        entries=tuple(one for one in wanted.entries if _namesake(data, one) is None),
    )
    written = _written(theirs, missing)
    if not (without(written, wanted.mark) == theirs and _is_in(written, missing)):
        tables = {".".join(one.path[:-1]) for one in missing.settings} | {".".join(one.path) for one in missing.entries}
        hint = f"write {', '.join(sorted(tables))} as tables of their own in it, `[…]`, or ours in by hand"
        raise TorchpickError(f"{file} cannot be added to without changing what it says", hint=hint, code="TOML")
    return written


def without(text: str, mark: str) -> str:
    """The text without the lines of this mark; a header stays where somebody wrote a key of their own under it."""
    if mark not in text:
        return text
    last = "" if text.endswith("\n") else "\n"
    end = rf"[ \t]*# {re.escape(mark)}$"
    text = re.sub(rf"(?m)^(?![ \t]*\[).*{end}\n?", "", text)
    text = re.sub(rf"(?m)^# {re.escape(mark)}: .*\n?", "", text)
    text = re.sub(rf"(?m)^\n?\[.*\]{end}\n?(?=(?:[ \t]*(?:#.*)?\n)*[ \t]*(?:\[|\Z))", "", text)
    return re.sub(rf"(?m)^(\[.*\]){end}", r"\1", text).removesuffix(last)


def _clashes(data: Mapping[str, Any], wanted: ProjectSettings) -> Iterator[str]:
    """What the author set to something else, and what ours would be."""
    for setting in wanted.settings:
        there = _value(data, setting.path)
        if there is not None and not _covers(there, setting.value):
            yield f"{'.'.join(setting.path)} is {toml.inline(there)} and would be {toml.inline(setting.value)}"
    for entry in wanted.entries:
        there = _namesake(data, entry)
        if there is not None and there != entry.values:
            yield f"{'.'.join(entry.path)} has {toml.inline(there)} and would have {toml.inline(entry.values)}"
    # uv puts an override in the place of every requirement.
    for override in toml.texts(_value(data, _OVERRIDES)):
        if named(override) in wanted.binding:
            yield f"{'.'.join(_OVERRIDES)} has {toml.inline(override)}"


def _covers(theirs: object, ours: object) -> bool:
    """Whether the author says the same; of a list, whether ours is in it."""
    if isinstance(theirs, list) and isinstance(ours, list):
        return all(one in theirs for one in ours)
    return theirs == ours


def _value(data: Mapping[str, Any], path: Path) -> object:
    return toml.table_at(data, *path[:-1]).get(path[-1])


def _namesake(data: Mapping[str, Any], entry: ArrayEntry) -> Mapping[str, Any] | None:
    """The author's entry of this name; uv lets an index be without one."""
    name, entries = normal(str(entry.values["name"])), _value(data, entry.path)
    tables = (one for one in entries if isinstance(one, Mapping)) if isinstance(entries, list) else ()
    return next((one for one in tables if normal(str(one.get("name", ""))) == name), None)


def _is_in(text: str, wanted: ProjectSettings) -> bool:
    """Whether the text is TOML that says all of this: what looks like a header may be part of a string."""
    try:
        data = toml.loads(text)
    except ValueError:
        return False
    settings = all(_value(data, one.path) == one.value for one in wanted.settings)
    return settings and all(_namesake(data, one) == one.values for one in wanted.entries)


def _written(text: str, wanted: ProjectSettings) -> str:
    """The text with all of this in it: under the headers that are there, and in new tables at the end of the file."""
    mark = f" # {wanted.mark}\n"
    tables: dict[str, list[str]] = {}
    for setting in wanted.settings:
        comment = [f"# {wanted.mark}: {line}\n" for line in setting.comment]
        line = f"{toml.key(setting.path[-1])} = {toml.inline(setting.value)}{mark}"
        tables.setdefault(f"[{_dotted(setting.path[:-1])}]", []).extend((*comment, line))
    written = text if not text or text.endswith("\n") else f"{text}\n"
    for header, lines in tables.items():
        there = re.search(rf"(?m)^[ \t]*{re.escape(header)}[ \t]*(?:#.*)?\r?\n", written)
        place = there.end() if there else len(written)
        above = [] if there else [*(["\n"] if written else []), header + mark]
        written = written[:place] + "".join((*above, *lines)) + written[place:]
    for entry in wanted.entries:
        values = [f"{toml.key(name)} = {toml.inline(value)}{mark}" for name, value in entry.values.items()]
        written += "".join((*(["\n"] if written else []), f"[[{_dotted(entry.path)}]]{mark}", *values))
    return written if not text or text.endswith("\n") else written.removesuffix("\n")  # so that it can be taken out


def _dotted(path: Path) -> str:
    return ".".join(map(toml.key, path))


# Ours stand in the section that pip has for its variables, and reads from files too (22.2 to 26): it is stronger than
# what the rest of the file says of the same options, so that all of that stays as it is. Pip's own editor drops the
# comment and moves the section.
_SECTION = f"[:env:] # {PIN}, taken out by `torchpick unpin`\n"
_PINNED = re.compile(r"(?m)^\[:env:\](?=(?s:.*)/torchpick/).*\n(?:(?:find-links|constraint) ?=.*\n(?:[ \t]+\S.*\n)*)*")


def pinned_conf(text: str, options: Mapping[str, tuple[str, ...]]) -> str:
    """A pip.conf with these options."""
    before = unpinned_conf(text)
    whole = not before or before.endswith("\n")
    ours = "".join(f"{name} =\n" + "".join(f"    {word}\n" for word in words) for name, words in options.items())
    written = f"{before}{'' if whole else chr(10)}{_SECTION}{ours}"
    return written if whole else written.removesuffix("\n")  # so that it can be taken out


def unpinned_conf(text: str) -> str:
    """The text as it was before it was pinned, with whatever has been added to it since."""
    last = "" if text.endswith("\n") else "\n"
    before = _PINNED.sub("", text + last)
    return before.removesuffix(last)
