"""What a project says of itself: METADATA and PKG-INFO, a static pyproject.toml, an egg's requires.txt. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple

from torchpick.model.versions import check_bounds, grouped, normal, parsed

# apache-airflow with all its providers has some 1,000 lines; the longest line met has 600 characters.
MOST_REQUIRES = 5000
_MOST_LINE = 4096
_MOST_TEXT = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
# What would end a line, move the cursor or turn the direction of writing where the text is shown or written.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_READ = frozenset(
    {"metadata-version", "name", "version", "requires-dist", "requires-python", "provides-extra", "dynamic"}
)
_DEPENDENCIES = frozenset({"requires-dist", "provides-extra"})


class Metadata(NamedTuple):
    """What one file of a project requires; `requires` are its Requires-Dist lines as written.

    What is `guessed` is what an earlier build of the sdist left in it.
    """

    name: str  # as PEP 503 spells it
    version: str  # as PEP 440 spells it
    requires: tuple[str, ...]
    requires_python: str = ""
    provides_extra: tuple[str, ...] = ()
    guessed: bool = False

    @property
    def unreadable(self) -> str | None:
        """A requirement that is not valid, such as `PyYAML (>=5.1.*)` of long ago; pip leaves such a version out."""
        for line in self.requires:
            try:
                parsed(line)
            except ValueError:
                return line
        return None

    @property
    def text(self) -> str:
        """METADATA that says the same, which `parse_metadata` reads."""
        lines = ["Metadata-Version: 2.4", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        lines += [f"Provides-Extra: {extra}" for extra in self.provides_extra]
        return "\n".join([*lines, *(f"Requires-Dist: {line}" for line in self.requires)]) + "\n"


def parse_metadata(text: str) -> Metadata:
    """METADATA or PKG-INFO; a ValueError says what is wrong with it."""
    values = grouped(read_headers(text))
    names, versions = values.get("name"), values.get("version")
    if not names or not versions:
        raise ValueError("it says no name or no version")
    requires, extras = values.get("requires-dist", []), values.get("provides-extra", [])
    python = values.get("requires-python", [""])[0]
    return _checked(Metadata(names[0], versions[0], (*requires,), python, (*extras,)))


def _checked(draft: Metadata) -> Metadata:
    """Of texts that somebody else wrote; ValueError where one has what no name, version or line has."""
    if not _NAME.fullmatch(draft.name):
        raise ValueError("its name is not valid")
    if max(len(draft.requires), len(draft.provides_extra)) > MOST_REQUIRES:
        raise ValueError(f"it has more than {MOST_REQUIRES} requirements or extras")
    if sum(map(len, draft.requires)) > _MOST_TEXT:
        raise ValueError("its requirements are too long")
    # Extras that are no names (`[docs & tests]` of long ago) can be asked for by nobody.
    extras = tuple(dict.fromkeys(normal(extra) for extra in draft.provides_extra if _NAME.fullmatch(extra)))
    requires = tuple(_line(line) for line in draft.requires)
    python = _line(draft.requires_python)
    return Metadata(normal(draft.name), _version(draft.version), requires, python, extras, draft.guessed)


def _line(text: str) -> str:
    line = text.replace("\t", " ").strip()
    if len(line) > _MOST_LINE or _CONTROL.search(line):
        raise ValueError("a line of it is too long or has control characters")
    return line


def _version(text: str) -> str:
    if len(text) > _MOST_LINE or not text.isascii():
        raise ValueError("its version is not valid")
    check_bounds(text)
    from packaging.version import Version  # here, so that a check reads names and versions without packaging

    return str(Version(text))


def read_headers(text: str) -> Iterator[tuple[str, str]]:
    """The headers that are read, their folded lines joined."""
    head = text.removeprefix("\ufeff").replace("\r\n", "\n").partition("\n\n")[0]
    name, parts = "", list[str]()
    for line in head.split("\n"):
        if line.startswith((" ", "\t")):
            if name:
                parts.append(line.strip(" \t"))
            continue
        if name:
            yield name, " ".join(parts)
        key, _, value = line.partition(":")
        name, parts = key.lower() if key.lower() in _READ else "", [value.strip(" \t")]
    if name:
        yield name, " ".join(parts)


def requirements_are_final(pkg_info: str) -> bool:
    """Whether every wheel built of an sdist requires what its PKG-INFO says: Metadata-Version 2.2, and not Dynamic."""
    version, dynamic = "", set[str]()
    for name, value in read_headers(pkg_info):
        if name == "metadata-version":
            version = value
        elif name == "dynamic":
            dynamic.add(value.lower())
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", version, re.ASCII)
    return match is not None and (int(match[1]), int(match[2])) >= (2, 2) and not dynamic & _DEPENDENCIES


def of_pyproject(table: Mapping[str, Any], name: str, version: str) -> Metadata | None:
    """What `[project]` fixes for every build; None where a build may decide. It may raise ValueError."""
    project = table.get("project")
    if not isinstance(project, dict):
        return None
    dynamic = project.get("dynamic", [])
    if not isinstance(dynamic, list) or {"dependencies", "optional-dependencies"} & {str(one) for one in dynamic}:
        return None
    extras = project.get("optional-dependencies", {})
    if not isinstance(extras, dict):
        raise ValueError("its optional dependencies are not a table")  # noqa: TRY004 # as for all that is not valid
    requires = _texts(project.get("dependencies", []))
    for extra, lines in extras.items():
        requires += [with_marker(line, "", extra) for line in _texts(lines)]
    python = project.get("requires-python", "")
    python = python if isinstance(python, str) else ""
    return _checked(Metadata(name, version, (*requires,), python, (*extras,)))


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("its dependencies are not a list of texts")
    return list(value)


def of_requires_txt(text: str, name: str, version: str) -> Metadata:
    """What an egg's requires.txt says, whose sections are `[extra:marker]`; it may raise ValueError."""
    requires, extras = list[str](), list[str]()
    extra = marker = ""
    for line in (line.strip() for line in text.replace("\r\n", "\n").split("\n")):
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = (part.strip() for part in line[1:-1].partition(":"))
            extras += [extra] if extra else []
        elif line and not line.startswith("#"):
            requires.append(with_marker(line, marker, extra))
    return _checked(Metadata(name, version, (*requires,), "", (*extras,), guessed=True))


def with_marker(line: str, marker: str, extra: str) -> str:
    """A requirement that holds under a marker and for an extra alone."""
    if not marker and not extra:
        return line
    from packaging.markers import Marker

    requirement = copy(parsed(line))  # whose own stays as it is
    check_bounds(marker)
    if extra and not _NAME.fullmatch(extra):
        raise ValueError("an extra of it has no name")
    conditions = [f"({one})" for one in (str(requirement.marker or ""), marker) if one]
    conditions += [f"extra == '{normal(extra)}'"] if extra else []
    requirement.marker = Marker(" and ".join(conditions))
    return str(requirement)
