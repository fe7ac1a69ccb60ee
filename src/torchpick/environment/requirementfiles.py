"""Requirements as files and groups hold them, read as pip and uv do; and the one writer of them, in files and alone."""

from __future__ import annotations

import os

from torchpick.environment import toml
from torchpick.environment.world import content
from torchpick.errors import InstallerError, RequirementError, UsageError
from torchpick.model import NamedTuple
from torchpick.model.address import Address, redacted
from torchpick.model.versions import normal, pattern, some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NoReturn


MOST_BYTES = 16 << 20
_MOST_LINES = 1_000_000
_MOST_SHOWN = 500


def located(path: str) -> str:
    """A file's absolute path, or its URL; `file:` URLs are paths."""
    if path[:5].lower() != "file:":
        return path if "://" in path else os.path.abspath(path)
    from urllib.parse import unquote_to_bytes, urlsplit

    try:
        on_server = urlsplit(path).path
        if os.name != "nt":
            return os.path.abspath(
                os.fsdecode(unquote_to_bytes(on_server))
            )  # a name that is no text comes back as it is
        from urllib.request import url2pathname  # half of all that a plan loads beyond its own

        return os.path.abspath(url2pathname(on_server))
    except ValueError as error:
        raise _no_url(path) from error


def _no_url(text: str) -> RequirementError:
    return RequirementError(f"`{redacted(text)}` is not a valid URL", hint="check its spelling")


def not_below(words: Iterable[str], *folders: str) -> tuple[str, ...]:
    """The words that lead to no file in these folders."""
    paths = {*map(os.path.abspath, folders)}
    return tuple(word for word in words if os.path.dirname(located(word)) not in paths)


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
        raise _no_url(other) from error


def text_of(path: str, by: str) -> str:
    """The text of a requirements file in the encodings pip takes."""
    try:
        data = content(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", hint=f"check the path behind `{by}`") from error
    return decoded(data, path, by)


def decoded(data: bytes, path: str, by: str) -> str:
    """The text in these bytes, where pip and uv read the same in them."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"{path}: is not a text file ({error.reason} at byte {error.start})"
        raise UsageError(message, hint="save it as UTF-8") from error
    if text.count("\n") > _MOST_LINES:
        raise UsageError(f"{path}: has more than {_MOST_LINES:,} lines", hint=f"check the path behind `{by}`")
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file, it contains zero bytes", hint=f"check the path behind `{by}`")
    # What Python, and so pip, takes for the end of a line, and uv does not (str.splitlines).
    if any(mark in text for mark in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        for number, line in enumerate(pattern(r"\r\n?|\n").split(text), 1):
            if len(line.strip().splitlines()) > 1:
                message = f"{path}: line {number} has a separator in it that pip takes for a line end, and uv does not"
                raise UsageError(message, hint="replace it by a blank or a line break")
    return text


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
_MOST_WORDS = 10_000


class RequirementLine(NamedTuple):
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


def parse(text: str, environ: Mapping[str, str]) -> Iterator[RequirementLine]:
    """The entries of a file; `${NAME}` is filled in, as pip does."""
    for first, joined in _logical(text):
        line = _without_comment(joined).strip()
        if "${" in line:
            line = pattern(_VARIABLE).sub(lambda match: environ.get(match[1]) or match[0], line)
        yield from _entries(line, first) if line else ()


def _without_comment(line: str) -> str:
    """pip: a comment starts at the line's start or after a blank (docs, requirements file format)."""
    start = line.find("#")
    while start > 0 and not line[start - 1].isspace():
        start = line.find("#", start + 1)
    return line if start < 0 else line[:start]


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
    count = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    if requirement := " ".join(words[:count]).strip():
        hashed = any(word.startswith("--h") for word in words[count:])
        return [RequirementLine("", requirement, first, hashed=hashed)]
    if len(words) - count > _MOST_WORDS:  # optparse takes each from the front of a list
        return [RequirementLine(UNREADABLE, f"more than {_MOST_WORDS} words are in its options", first)]
    import shlex

    try:
        options = _options(shlex.split(" ".join(words[count:])))
    except ValueError as error:
        return [RequirementLine(UNREADABLE, str(error), first)]
    entries = [RequirementLine(name, value, first) for name, value in options]
    # pip takes a line with `-e` for that one requirement.
    return [entry for entry in entries if entry.option == "--editable"][:1] or entries


def _options(words: list[str]) -> list[tuple[str, str]]:
    """Several options of a line, in any unambiguous beginning of a name: by optparse, as pip takes them.

    uv knows the full names alone and takes the rest of a line for the value; what it would see is among these.
    """
    from optparse import Option, OptionParser

    class LineParser(OptionParser):
        def error(self, msg: str) -> NoReturn:
            raise ValueError(msg)

    options: list[tuple[str, str]] = []

    def keep(option: Option, _spelling: str, value: str | None, _parser: OptionParser) -> None:
        options.append((str(option.dest), value or ""))

    parser = LineParser(add_help_option=False)
    for names in _OPTIONS:
        parser.add_option(*names, dest=names[-1], action="callback", callback=keep, type="string")
    for name in _SWITCHES:
        parser.add_option(name, dest=name, action="callback", callback=keep)
    parser.parse_args(words)  # what it leaves over, pip does not look at
    return options


def read_dependencies(path: str, by: str) -> list[str] | None:
    """The dependencies of a project as its pyproject.toml has them; None where a build decides."""
    project = _table(path, by, "project")
    is_static = project and "dependencies" not in toml.texts(project.get("dynamic"))
    return toml.texts(project.get("dependencies")) if is_static else None


def _table(path: str, by: str, key: str) -> Mapping[str, object]:
    try:
        return toml.table_at(toml.loads(text_of(path, by)), key)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", hint=f"check the path behind `{by}`") from error


def read_group(word: str) -> list[tuple[str, str]]:
    """The requirements of a dependency group (PEP 735), `--group [PATH:]NAME`, each with the place where it stands."""
    path, mark, name = word.rpartition(":")
    path = path if mark else "pyproject.toml"
    path = os.path.join(path, "pyproject.toml") if os.path.isdir(path) else path
    groups = _table(path, f"--group {word}", "dependency-groups")
    from packaging.errors import ExceptionGroup

    try:
        texts = _in_groups(groups, name)
    except (ExceptionGroup, LookupError, TypeError, ValueError, RecursionError) as error:
        why = "; ".join(str(cause)[:_MOST_SHOWN] for cause in getattr(error, "exceptions", (error,)))
        hint = f"it has {some_of(list(groups), 8) or 'none'}; see PEP 735"
        raise UsageError(f"{path}: `--group {name}`: {why[:_MOST_SHOWN]}", hint=hint) from error
    shown = min(os.path.relpath(path), path, key=len)
    return [(text, f"{shown} group {name}") for text in texts]


def _in_groups(groups: Mapping[str, Any], name: str) -> list[str]:
    """The requirements of a group and of those it includes, each once: along every way there may be a billion."""
    from graphlib import CycleError, TopologicalSorter

    from packaging.dependency_groups import DependencyGroupInclude, DependencyGroupResolver

    resolver = DependencyGroupResolver(groups)
    todo, texts, includes = [normal(name)], list[str](), dict[str, list[str]]()
    for group in todo:
        if group not in includes:
            items = resolver.lookup(group)
            included = (item.include_group for item in items if isinstance(item, DependencyGroupInclude))
            includes[group] = list(map(normal, included))
            todo += includes[group]
            texts += [str(item) for item in items if not isinstance(item, DependencyGroupInclude)]
    try:
        TopologicalSorter(includes).prepare()
    except CycleError as error:
        raise ValueError(f"{error.args[1][0]} includes itself") from error
    return texts


# What is written may stand in a file, where a line end, a backslash before it, a `#` behind a blank, a dash in front
# and `${NAME}` have a meaning.
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
_VERSION = _WORD.union("+!")
_SPECIFIER = _VERSION.union("*,=<>~")


def requirement(
    name: str, specifier: str = "", *, address: Address | None = None, extras: Iterable[str] = (), marker: str = ""
) -> str:
    """`NAME[EXTRAS]SPECIFIER ; MARKER`, or `NAME[EXTRAS] @ ADDRESS ; MARKER`, as it may stand in a file or alone."""
    inside = tuple(extras)
    if not (is_word(name) and all(map(is_word, inside)) and is_specifier(specifier)):
        raise _refused(f"{name}[{','.join(inside)}]{specifier}", "is not a name with a version")
    front = f"{name}[{','.join(inside)}]" if inside else name
    what = specifier if address is None else f" @ {address}"
    return checked(f"{front}{what} ; {marker}" if marker else f"{front}{what}")


def argument(word: str) -> str:
    """A requirement in somebody's own words as an argument of its own; an error where it would be an option."""
    if not word.isprintable():
        raise _refused(word, "has a line end or a control character in it")
    if not word or word.startswith("-"):
        raise _refused(word, "would be an option")
    return word


def checked(line: str) -> str:
    """A requirement in somebody's own words, which says in a file what it says alone; else an error."""
    argument(line)
    if line.startswith("#") or " #" in line or " -" in line or line.endswith("\\"):
        raise _refused(line, "would be an option or a comment in a requirements file, or continue on the next line")
    if "${" in line:
        raise _refused(line, "names a variable, which pip and uv expand in a requirements file")
    return line


def file_of(requirements: Iterable[str], *, editables: Iterable[str] = ()) -> str:
    lines = [*(f"-e {checked(path)}" for path in editables), *map(checked, requirements)]
    return "".join(f"{line}\n" for line in lines)


def is_word(text: object) -> bool:
    """Whether it is a text that may be a name, an extra, or a tag of a wheel."""
    return isinstance(text, str) and text != "" and _WORD.issuperset(text) and text[0] not in "-."


def is_version(text: object) -> bool:
    return isinstance(text, str) and text != "" and _VERSION.issuperset(text) and text[0] not in "-."


def is_specifier(text: object) -> bool:
    """Whether it is a text that may be versions and comparisons of such."""
    return isinstance(text, str) and _SPECIFIER.issuperset(text)


def _refused(text: str, why: str) -> InstallerError:
    hint = "write it as NAME, NAME==VERSION or NAME @ URL, with the URL percent-encoded"
    return InstallerError(f"`{redacted(' '.join(text.split()))}` {why}", hint=hint)
