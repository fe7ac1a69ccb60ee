"""Lines of ours in somebody's TOML or pip.conf, put in and taken out so that every byte of theirs stays. Pure.

In TOML a line of ours ends with a comment that holds our mark; an earlier run's lines are replaced. What the author
wrote is never changed: where it says something else, that is a clash, and nothing is written. In a pip.conf, whose
values have no comments behind them, ours stand between two marks, and what had to give way to them behind a third.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchpick.environment import toml
from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun
from torchpick.model.versions import admits, named, normal, parsed

Path = tuple[str, ...]
# What `extras` writes, and what `pin` does: neither takes out what the other one wrote.
MARK = "torchpick"
PIN = f"{MARK} pin"
_HEADER = re.compile(r"[ \t]*\[[^\n]*\][ \t]*(?:#[^\n]*)?\n")
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

    `binding` are the projects whose requirements must hold in uv, to a version where there is one for all.
    """

    settings: tuple[ProjectSetting, ...] = ()
    entries: tuple[ArrayEntry, ...] = ()
    mark: str = MARK
    binding: Mapping[str, str | None] = {}


class Clash(Noun):
    """A key that the author set to something else, and its line where it is known."""

    where: str
    theirs: str
    ours: str
    line: int | None = None

    @property
    def place(self) -> str:
        """How a message calls it."""
        return f"line {self.line}, {self.where}" if self.line else self.where


def merged(text: str, wanted: ProjectSettings) -> tuple[str, tuple[Clash, ...]]:
    """The text with the settings in it, and where the author said otherwise; with a clash the text is as it was."""
    theirs = without(text, wanted.mark)
    data = toml.read(theirs)
    if clashes := tuple(_clashes(data, theirs, wanted)):
        return text, clashes
    missing = wanted._replace(
        settings=tuple(one for one in wanted.settings if one.path[-1] not in _table(data, one.path[:-1])),
        entries=tuple(one for one in wanted.entries if _namesake(data, one) is None),
    )
    written = _written(theirs, missing)
    try:
        kept = toml.loads(written) == _joined(data, missing)
    except ValueError:
        kept = False
    if not kept:
        tables = {".".join(one.path[:-1]) for one in missing.settings} | {".".join(one.path) for one in missing.entries}
        hint = f"write {', '.join(sorted(tables))} as tables of their own in it, `[…]`, or ours in by hand"
        raise TorchpickError("this file cannot be added to without changing what it says", hint=hint, code="TOML")
    # Where ours stand among the author's lines is the author's affair.
    return (text if _ours(text, wanted.mark) == _ours(written, wanted.mark) else written), ()


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


def _ours(text: str, mark: str) -> Counter[str]:
    end = f"# {mark}"
    return Counter(line for line in text.splitlines() if line.endswith(end) or line.startswith(f"{end}: "))


def _clashes(data: Mapping[str, Any], text: str, wanted: ProjectSettings) -> Iterator[Clash]:
    for setting in wanted.settings:
        there = _table(data, setting.path[:-1]).get(setting.path[-1])
        if there is not None and not _covers(there, setting.value):
            yield _clash(text, setting.path, there, setting.value)
    for entry in wanted.entries:
        there = _namesake(data, entry)
        if there is not None and there != entry.values:
            where = f"{'.'.join(entry.path)}, name {entry.values['name']}"
            yield Clash(where, toml.inline(there), toml.inline(entry.values))
    if wanted.binding:
        overrides = toml.texts(_table(data, _OVERRIDES[:-1]).get(_OVERRIDES[-1]))
        undoing = [one for one in overrides if named(one) in wanted.binding and not _allows(one, wanted.binding)]
        if undoing:
            yield _clash(text, _OVERRIDES, undoing, [one for one in overrides if one not in undoing])


def _clash(text: str, path: Path, theirs: object, ours: object) -> Clash:
    """With the line on which the key stands in its table."""
    lines = _lines(text)
    first = next((first for known, first, _ in _tables(lines) if known == path[:-1]), 0)
    key = re.compile(rf"\s*[\"']?{re.escape(path[-1])}[\"']?\s*[.=]")
    line = next((number for number, line in enumerate(lines[first:], first + 1) if key.match(line)), None)
    return Clash(".".join(path), toml.inline(theirs), toml.inline(ours), line)


def _covers(theirs: object, ours: object) -> bool:
    """Whether the author says the same; of a list, whether ours is in it."""
    if isinstance(theirs, list) and isinstance(ours, list):
        return all(one in theirs for one in ours)
    return theirs == ours


def _allows(override: str, binding: Mapping[str, str | None]) -> bool:
    """Whether the very version may be had beside an override of uv's, which takes the place of every requirement."""
    version = binding[named(override)]
    try:
        requirement = parsed(override)
        return version is not None and requirement.url is None and admits(str(requirement.specifier))(version)
    except ValueError:
        return False


def _table(data: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The table there; a value that is not a table is the author's mistake, and an error."""
    for depth, name in enumerate(path, start=1):
        value = data.get(name, {})
        if not isinstance(value, dict):
            where = ".".join(path[:depth])
            raise TorchpickError(f"`{where}` must be a table", hint=f"make it one: `[{where}]`", code="TOML")
        data = value
    return data


def _namesake(data: Mapping[str, Any], entry: ArrayEntry) -> Mapping[str, Any] | None:
    """The author's entry of this name; uv lets an index be without one."""
    entries = _table(data, entry.path[:-1]).get(entry.path[-1], [])
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        where = ".".join(entry.path)
        raise TorchpickError(f"`{where}` must be an array of tables", hint=f"make it one: `[[{where}]]`", code="TOML")
    name = normal(str(entry.values["name"]))
    return next((one for one in entries if normal(str(one.get("name", ""))) == name), None)


def _written(text: str, wanted: ProjectSettings) -> str:
    """The text with all of this in it: at the end of tables that are there, and in new ones at the end of the file."""
    mark = f" # {wanted.mark}\n"
    new: dict[Path, list[str]] = {}
    for setting in wanted.settings:
        comment = [f"# {wanted.mark}: {line}\n" for line in setting.comment]
        line = f"{toml.key(setting.path[-1])} = {toml.inline(setting.value)}{mark}"
        new.setdefault(setting.path[:-1], []).extend((*comment, line))
    lines = _lines(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    for path, _, end in reversed(_tables(lines)):
        if path in new:
            lines[end:end] = new.pop(path)
    tables = [(f"[{'.'.join(map(toml.key, path))}]", added) for path, added in new.items()]
    for entry in wanted.entries:
        values = [f"{toml.key(name)} = {toml.inline(value)}{mark}" for name, value in entry.values.items()]
        tables.append((f"[[{'.'.join(map(toml.key, entry.path))}]]", values))
    for header, added in tables:
        lines += [*(["\n"] if lines else []), header + mark, *added]
    written = "".join(lines)
    return written if not text or text.endswith("\n") else written.removesuffix("\n")  # so that it can be taken out


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _tables(lines: Sequence[str]) -> list[tuple[Path, int, int]]:
    """Each table that has a header of its own: its path, the line behind the header, and that behind its last key."""
    found: list[tuple[Path, int, int]] = []
    path: Path = ()
    first = 0
    for number, line in enumerate([*lines, "[end]\n"]):
        # What looks like a header may stand in a string or a list of several lines: the part before it is no TOML then.
        if (
            _HEADER.fullmatch(line)
            and (number == len(lines) or _path(line))
            and _is_whole(lines[max(first - 1, 0) : number])
        ):
            end = number
            while end > first and lines[end - 1].strip()[:1] in ("", "#"):
                end -= 1
            found += [(path, first, end)] if path else []
            path, first = _path(line), number + 1
    return found


def _is_whole(lines: Sequence[str]) -> bool:
    try:
        toml.loads("".join(lines))
    except ValueError:
        return False
    return True


def _path(header: str) -> Path:
    """The path in a table's header; empty for what is none, and for an entry of an array."""
    try:
        table = toml.loads(header)
    except ValueError:
        return ()
    path = []
    while table:
        ((name, value),) = table.items()
        path.append(name)
        if isinstance(value, list):
            return (*path, "[]")
        table = value
    return tuple(path)


def _joined(data: Mapping[str, Any], wanted: ProjectSettings) -> dict[str, Any]:
    """The data with all of this in it."""
    import copy

    whole = copy.deepcopy(dict(data))
    for path, value in [(one.path, one.value) for one in wanted.settings]:
        _holder(whole, path)[path[-1]] = value
    for entry in wanted.entries:
        _holder(whole, entry.path).setdefault(entry.path[-1], []).append(dict(entry.values))
    return whole


def _holder(whole: dict[str, Any], path: Path) -> dict[str, Any]:
    for name in path[:-1]:
        whole = whole.setdefault(name, {})
    return whole


# ---- pip.conf: lines are told apart as configparser does it, one that is indented deeper continues its option ----


_BEGIN = "# >>> torchpick pin, taken out by `torchpick unpin`"
_END = "# <<< torchpick pin"
_KEPT = "# torchpick keeps: "
_SECTION = "install"
_ENDS = ("\n", "\r")


class ConfLine(Noun):
    """One line as it stands, the section it is in, and the option that it begins or continues."""

    text: str
    section: str
    option: str
    indent: int


def _conf_lines(text: str) -> Iterator[ConfLine]:
    """The lines, each with its own end."""
    section, option, depth = "", "", 0
    for text_line in io.StringIO(text, newline=""):
        plain = text_line.strip()
        indent = len(text_line) - len(text_line.lstrip())
        if not plain or plain[0] in "#;":
            yield ConfLine(text_line, section, "", indent)
        elif option and indent > depth:
            yield ConfLine(text_line, section, option, indent)
        elif header := re.match(r"\[(.+)\]", plain):
            section, option, depth = header[1], "", indent
            yield ConfLine(text_line, section, "", indent)
        else:
            option, depth = _option(re.split("[=:]", plain, maxsplit=1)[0]), indent
            yield ConfLine(text_line, section, option, indent)


def _option(name: str) -> str:
    """Pip takes `find_links` and `--find-links` for `find-links`."""
    return name.strip().lower().replace("_", "-").removeprefix("--")


def pinned_conf(text: str, options: Mapping[str, tuple[str, ...]]) -> str:
    """The text with these options of `pip install`; what it said of them before is kept behind a mark."""
    before = unpinned_conf(text)
    lines = list(_conf_lines(before))
    end = "\r\n" if any(line.text.endswith("\r\n") for line in lines) else "\n"
    kept = [
        f"{_KEPT}{line.text}" if line.section == _SECTION and line.option in options else line.text for line in lines
    ]
    place = max((place for place, line in enumerate(lines, start=1) if line.section == _SECTION), default=None)
    following = len(lines) if place is None else place
    indent = " " * (lines[following].indent if following < len(lines) else 0)
    block = [] if place is not None else [f"[{_SECTION}]"]
    for name, words in options.items():
        block += [f"{indent}{name} =", *(f"{indent}    {word}" for word in words)]
    whole = not kept or kept[-1].endswith(_ENDS)
    if not whole:
        kept[-1] += end
    found = "".join([*kept[:following], *(line + end for line in (_BEGIN, *block, _END)), *kept[following:]])
    return found if whole else found.removesuffix(end)  # so that it can be taken out


def unpinned_conf(text: str) -> str:
    """The text as it was before it was pinned, with whatever has been added to it since."""
    found: list[str] = []
    inside = False
    for line in io.StringIO(text, newline=""):
        if line.startswith(_BEGIN):
            inside = True
        elif inside:
            inside = not line.startswith(_END)
        else:
            found.append(line.removeprefix(_KEPT))
    before = "".join(found)
    return before if _BEGIN not in text or text.endswith(_ENDS) else before.removesuffix("\n").removesuffix("\r")


def without_address(text: str, address: str) -> str:
    """The text without words that begin with this address, for a file whose marks another program has dropped.

    An option that is left without a value counts for nothing to pip.
    """
    mine = re.escape(address)
    return re.sub(rf"(?m)^[ \t]*{mine}\S*[ \t]*\r?\n|[ \t]*(?<!\S){mine}\S*", "", text)
