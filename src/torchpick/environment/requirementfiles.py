"""Requirements as files and groups hold them: where a file lies, its encoding, its lines, as pip and uv read them."""

from __future__ import annotations

import os

from torchpick.environment import toml
from torchpick.environment.world import content
from torchpick.errors import RequirementError, UsageError
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import NoReturn

MOST_BYTES = 16 << 20


def located(path: str) -> str:
    """A file's absolute path, or its URL; `file:` URLs are paths."""
    if path[:5].lower() == "file:":
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        try:
            return os.path.abspath(url2pathname(urlsplit(path).path))
        except ValueError as error:
            raise RequirementError(f"`{redacted(path)}` is not a valid URL", hint="check its spelling") from error
    return path if "://" in path else os.path.abspath(path)


def not_below(words: Iterable[str], *places: str) -> tuple[str, ...]:
    """The words that lead to no file in these folders."""
    ours = {*map(os.path.abspath, places)}
    return tuple(word for word in words if os.path.dirname(located(word)) not in ours)


def beside(path: str, other: str) -> str:
    """The file that a requirements file names: relative to that file, unless it is a URL."""
    if "://" in other or other[:5].lower() == "file:":
        return other
    if "://" not in path:
        return os.path.join(os.path.dirname(path), other)
    from urllib.parse import urljoin

    try:
        return urljoin(path, other)
    except ValueError as error:
        raise RequirementError(f"`{redacted(other)}` is not a valid URL", hint="check its spelling") from error


def text_of(path: str, by: str) -> str:
    """The text of a requirements file in the encodings pip takes."""
    hint = f"check the path behind `{by}`"
    try:
        data = content(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    return decoded(data, path, by)


def decoded(data: bytes, path: str, by: str) -> str:
    """The text in these bytes, where pip and uv read the same in them."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8":
        _check_declared(data, path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: is not a text file ({error.reason} at byte {error.start})", hint="save it as UTF-8"
        ) from error
    _check_line_ends(text, path)
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file, it contains zero bytes", hint=f"check the path behind `{by}`")
    return text


def _check_line_ends(text: str, path: str) -> None:
    """Refuse what Python, and so pip, takes for the end of a line, and uv does not (str.splitlines)."""
    if not any(mark in text for mark in _LINE_ENDS):
        return
    for number, line in enumerate(pattern(r"\r\n?|\n").split(text), 1):
        if len(line.strip().splitlines()) > 1:
            raise UsageError(
                f"{path}: line {number} has a separator in it that pip takes for a line end, and uv does not",
                hint="replace it by a blank or a line break",
            )


_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def _check_declared(data: bytes, path: str) -> None:
    """Refuse a comment in the first two lines that declares another encoding (PEP 263): pip obeys it, uv does not."""
    for line in data.split(b"\n")[:2]:
        if line[:1] == b"#" and b"coding" in line:
            match = pattern(_CODING).search(line.decode("latin-1"))
            if match and match[1].lower() not in ("utf-8", "utf8", "ascii", "us-ascii"):
                raise UsageError(f"{path}: declares the encoding {match[1]}", hint="save it as UTF-8")


_CODING = r"(?a)coding[:=]\s*([-\w.]+)"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


_VARIABLE = r"\$\{([A-Z0-9_]+)\}"
# pip's options of a file (`SUPPORTED_OPTIONS` in its req_file.py, 22 to 26), the name that is used here last.
_OPTIONS = (
    ("-i", "--pypi-url", "--index-url"), ("--extra-index-url",), ("-f", "--find-links"),
    ("-r", "--requirements", "--requirement"), ("-c", "--constraints", "--constraint"), ("-e", "--editable"),
    ("--trusted-host",), ("--no-binary",), ("--only-binary",), ("--use-feature",), ("--all-releases",),
    ("--only-final",), ("--hash",), ("--global-option",), ("-C", "--config-setting", "--config-settings"),
)  # fmt: skip
_SWITCHES = ("--no-index", "--prefer-binary", "--require-hashes", "--pre")
UNREADABLE = "?"


class RequirementLine(Noun):
    """A requirement or one option, and the line it stands on; the options of one line are entries of their own.

    `option` is its long name, empty for a requirement, `UNREADABLE` where `value` says what is wrong with the line.
    `first` counts from one.
    """

    option: str
    value: str
    first: int
    hashed: bool = False

    @property
    def place(self) -> str:
        """The index, or the page of links, that it names; empty where it names none."""
        return self.value if self.option in ("--index-url", "--extra-index-url", "--find-links") else ""


def parse(text: str, environ: Mapping[str, str]) -> tuple[RequirementLine, ...]:
    """The entries of a file; `${NAME}` is filled in, as pip does."""
    found: list[RequirementLine] = []
    for first, joined in _logical(text):
        line = _without_comment(joined).strip()
        if line:
            if "${" in line:
                line = pattern(_VARIABLE).sub(lambda match: environ.get(match[1]) or match[0], line)
            found += _entries(line, first)
    return tuple(found)


def _without_comment(line: str) -> str:
    """pip: a comment starts at the line's start or after a blank (docs, requirements file format)."""
    place = line.find("#")
    while place > 0 and not line[place - 1].isspace():
        place = line.find("#", place + 1)
    return line if place < 0 else line[:place]


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined at a trailing backslash, with nothing between them; a comment line ends what it stands in."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), 1):
        if not parts:
            first = number
        comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            parts.append(line.strip("\\"))
            continue
        yield first, "".join([*parts, f" {line}" if comment else line])
        parts = []
    if parts:
        yield first, "".join(parts)


def _entries(line: str, first: int) -> list[RequirementLine]:
    """Pip takes the words before the first option for a requirement, and then all options for that requirement's."""
    words = line.split(" ")
    count = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    if requirement := " ".join(words[:count]).strip():
        hashed = any(word.startswith("--h") for word in words[count:])
        return [RequirementLine("", requirement, first, hashed=hashed)]
    import shlex

    try:
        found = [RequirementLine(name, value, first) for name, value in _options(shlex.split(" ".join(words[count:])))]
    except ValueError as error:
        return [RequirementLine(UNREADABLE, str(error), first)]
    # pip takes a line with `-e` for that one requirement.
    return [entry for entry in found if entry.option == "--editable"][:1] or found


def _options(words: list[str]) -> list[tuple[str, str]]:
    """Several options of a line, in any unambiguous beginning of a name: by optparse, as pip takes them.

    uv knows the full names alone and takes the rest of a line for the value; what it would see is among these.
    """
    from optparse import Option, OptionParser

    class LineParser(OptionParser):
        def error(self, msg: str) -> NoReturn:
            raise ValueError(msg)

    found: list[tuple[str, str]] = []

    def keep(option: Option, _spelling: str, value: str | None, _parser: OptionParser) -> None:
        found.append((str(option.dest), value or ""))

    parser = LineParser(add_help_option=False)
    for names in _OPTIONS:
        parser.add_option(*names, dest=names[-1], action="callback", callback=keep, type="string")
    for name in _SWITCHES:
        parser.add_option(name, dest=name, action="callback", callback=keep)
    parser.parse_args(words)  # what it leaves over, pip does not look at
    return found


_MOST_DEEP = 50


def of_project(path: str, by: str) -> list[str]:
    """The dependencies of a project as its pyproject.toml has them; none where a build decides."""
    project = _table(path, by, "project")
    return toml.texts(project.get("dependencies")) if _fixes_dependencies(project) else []


def is_static(path: str) -> bool:
    """Whether a pyproject.toml says what every build of the project requires."""
    project = _table(path, path, "project")
    return bool(project) and _fixes_dependencies(project)


def _fixes_dependencies(project: Mapping[str, object]) -> bool:
    return "dependencies" not in toml.texts(project.get("dynamic"))


def _table(path: str, by: str, key: str) -> Mapping[str, object]:
    try:
        return toml.table_at(toml.loads(text_of(path, by)), key)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", hint=f"check the path behind `{by}`") from error


def of_group(word: str) -> list[tuple[str, str]]:
    """The requirements of a dependency group (PEP 735), `--group [PATH:]NAME`, each with the place where it stands."""
    path, mark, name = word.rpartition(":")
    path = path if mark else "pyproject.toml"
    path = os.path.join(path, "pyproject.toml") if os.path.isdir(path) else path
    groups = _table(path, f"--group {word}", "dependency-groups")
    table = {normal(key): value for key, value in groups.items()}
    shown = min(os.path.relpath(path), path, key=len)
    return [(text, f"{shown} group {name}") for text in _texts(table, name, path, ())]


def _texts(table: Mapping[str, object], name: str, path: str, within: tuple[str, ...]) -> Iterator[str]:
    """Those of a group, and of the groups that it includes."""
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
