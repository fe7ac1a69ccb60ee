"""A requirements file, line by line, in pip's own format. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchpick.model.noun import Noun

# pip: a comment starts at the line's start or after a blank (docs, requirements file format).
_COMMENT = re.compile(r"(^|\s)#.*$")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
# Options that take a value and may stand on a line of their own; the long name for each.
_OPTIONS = {
    "-r": "--requirement",
    "--requirements": "--requirement",
    "-c": "--constraint",
    "--constraints": "--constraint",
    "-e": "--editable",
    "-i": "--index-url",
    "--pypi-url": "--index-url",
    "-f": "--find-links",
}
_WITH_VALUE = frozenset({*_OPTIONS.values(), "--extra-index-url", "--trusted-host", "--no-binary", "--only-binary"})


class Entry(Noun):
    """One logical line. `option` is its long name, empty for a requirement; `first` and `last` count from one."""

    option: str
    value: str
    first: int
    last: int
    hashed: bool = False


def parse(text: str, environ: Mapping[str, str]) -> tuple[Entry, ...]:
    """The entries of a file; `${NAME}` is filled in, as pip does."""
    found = []
    for first, last, joined in _logical(text):
        line = _COMMENT.sub("", joined).strip()
        if not line:
            continue
        line = _VARIABLE.sub(lambda match: environ.get(match[1], match[0]), line)
        found.append(_entry(line, first, last))
    return tuple(found)


def _logical(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines joined at a trailing backslash; a comment line inside ends nothing, as with pip."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), 1):
        if not parts:
            first = number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            parts.append(line[:-1])
            continue
        parts.append(line if not parts or not line.lstrip().startswith("#") else "")
        yield first, number, " ".join(parts) if len(parts) > 1 else parts[0]
        parts = []
    if parts:
        yield first, len(text.splitlines()), " ".join(parts)


def _entry(line: str, first: int, last: int) -> Entry:
    if not line.startswith("-"):
        requirement, _, options = line.partition(" --")
        return Entry("", requirement.strip(), first, last, hashed="hash" in options)
    name, mark, value = line.partition("=") if "=" in line.split()[0] else line.partition(" ")
    # `-rfile` is as good as `-r file`.
    if not line.startswith("--") and len(line) > 2 and line[2] not in " =":
        name, mark, value = line[:2], " ", line[2:]
    name = _OPTIONS.get(name.strip(), name.strip())
    if name not in _WITH_VALUE:
        return Entry(name, (mark + value).strip(), first, last)
    value = value.strip()
    if value[:1] in "\"'" and value[:1] and value.endswith(value[:1]) and len(value) > 1:
        value = value[1:-1]
    return Entry(name, value, first, last)
