"""A requirements file, line by line, in pip's own format. Pure.

pip hands the options of a line to optparse: several may stand on one line, in any unambiguous abbreviation. uv knows
the full names alone and takes the rest of a line for the value; what it would see of a line is among what is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchpick.model.noun import Noun

# pip: a comment starts at the line's start or after a blank (docs, requirements file format).
_COMMENT = re.compile(r"(^|\s+)#.*$")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
# pip's options of a file, and whether a value follows (`SUPPORTED_OPTIONS` in its req_file.py, 22 to 26).
_TAKES_VALUE = {
    "--index-url": True, "--pypi-url": True, "--extra-index-url": True, "--find-links": True, "--requirement": True,
    "--requirements": True, "--constraint": True, "--constraints": True, "--editable": True, "--trusted-host": True,
    "--no-binary": True, "--only-binary": True, "--use-feature": True, "--all-releases": True, "--only-final": True,
    "--hash": True, "--global-option": True, "--config-settings": True, "--config-setting": True,
    "--no-index": False, "--prefer-binary": False, "--require-hashes": False, "--pre": False,
}  # fmt: skip
# The names that mean the same, by the one that is used here.
_SAME = {
    "-r": "--requirement", "--requirements": "--requirement", "-c": "--constraint", "--constraints": "--constraint",
    "-e": "--editable", "-i": "--index-url", "--pypi-url": "--index-url", "-f": "--find-links",
    "--config-setting": "--config-settings", "-C": "--config-settings",
}  # fmt: skip
# What an option may not be left in doubt about: where packages come from, and which files are read.
_PLACES = frozenset({"--index-url", "--extra-index-url", "--find-links", "--requirement", "--constraint"})
UNREADABLE = "?"


class RequirementLine(Noun):
    """A requirement or one option, and the lines it stands on; the options of one line are entries of their own.

    `option` is its long name, empty for a requirement, `UNREADABLE` where `value` says what is wrong with the line.
    `first` and `last` count from one.
    """

    option: str
    value: str
    first: int
    last: int
    hashed: bool = False


def parse(text: str, environ: Mapping[str, str]) -> tuple[RequirementLine, ...]:
    """The entries of a file; `${NAME}` is filled in, as pip does."""
    found: list[RequirementLine] = []
    for first, last, joined in _logical(text):
        line = _COMMENT.sub("", joined).strip()
        if not line:
            continue
        line = _VARIABLE.sub(lambda match: environ.get(match[1]) or match[0], line)
        found += _entries(line, first, last)
    return tuple(found)


def _logical(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines joined at a trailing backslash, with nothing between them; a comment line ends what it stands in."""
    parts: list[str] = []
    first = 1
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not parts:
            first = number
        comment = _COMMENT.match(line) is not None
        if line.endswith("\\") and not comment:
            parts.append(line.strip("\\"))
            continue
        yield first, number, "".join([*parts, f" {line}" if comment else line])
        parts = []
    if parts:
        yield first, number, "".join(parts)


def _entries(line: str, first: int, last: int) -> list[RequirementLine]:
    """Pip takes the words before the first option for a requirement, and then all options for that requirement's."""
    words = line.split(" ")
    count = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    if requirement := " ".join(words[:count]).strip():
        hashed = any(word.startswith("--h") for word in words[count:])
        return [RequirementLine("", requirement, first, last, hashed=hashed)]
    import shlex

    try:
        rest = shlex.split(" ".join(words[count:]))
    except ValueError as error:
        return [RequirementLine(UNREADABLE, f"a quote is not closed ({error})", first, last)]
    found = []
    pending = iter(rest)
    for word in pending:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue  # optparse leaves it over, and pip does not look at what is left over
        name, value = _split(word)
        long = _SAME.get(name, name)
        if long.startswith("--") and long not in _TAKES_VALUE:
            candidates = {_SAME.get(known, known) for known in _TAKES_VALUE if known.startswith(long)}
            if len(candidates) > 1 and candidates & _PLACES:
                options = " or ".join(sorted(candidates))
                return [RequirementLine(UNREADABLE, f"`{name}` may mean {options}", first, last)]
            long = candidates.pop() if len(candidates) == 1 else long
        if value is None:
            value = next(pending, "") if _TAKES_VALUE.get(long) else ""
        found.append(RequirementLine(long, value, first, last))
    # pip takes a line with `-e` for that one requirement.
    return [entry for entry in found if entry.option == "--editable"][:1] or found


def _split(word: str) -> tuple[str, str | None]:
    """`--name=value` and `-rvalue`; no value where the next word is it."""
    if word.startswith("--"):
        name, mark, value = word.partition("=")
        return name, value if mark else None
    return word[:2], word[2:].removeprefix("=") or None
