"""What a lock or a requirements file has on a machine, with each extra and group: versions, and their indexes.

uv.lock and pylock.toml (PEP 751) are read as TOML; a requirements file as pip reads it. Nothing is fetched or resolved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torchpick.decide.demands import is_backend
from torchpick.environment import toml
from torchpick.environment.requirements import Requested, RequirementArgs, read_requirements
from torchpick.environment.world import content
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.machine import Machine
from torchpick.model.versions import ALWAYS, NEVER, admits, marker_applies, marker_facts, normal

# Far above what was met: 9 MB, 1,100 packages.
_MOST_BYTES, _MOST_PACKAGES = 32 << 20, 20_000
# How uv's markers name an extra or a group of a conflict, and PEP 751's any.
_CONFLICT = re.compile(r"""extra (==|!=) ['"]((?:extra|group)-[^'"]*)['"]""")
_SELECTED = re.compile(r"""['"]([^'"]+)['"] (not )?in (extras|dependency_groups)""")
# The files of other packages, a line each: three quarters of a uv.lock, and tomllib reads some 5 MB a second.
_OTHER_FILES = re.compile(r'(?m)^    \{ url = "(?![^"\n]*/torch-).*\n')
# What names an entry: its name, its version and its index.
EntryKey = tuple[str, str, str]


class Edge(NamedTuple):
    """A requirement of a lock; version and index are empty where there is one entry of the name."""

    name: str
    version: str = ""
    index: str = ""  # type: ignore[assignment]
    extras: tuple[str, ...] = ()
    marker: str = ""

    @property
    def key(self) -> EntryKey:
        return self.name, self.version, self.index


class LockedPackage(NamedTuple):
    """A package with what it requires: always, with each of its extras, and with each of its groups.

    Its index is empty where the file does not say it; `wheels` are torch's files.
    """

    name: str
    version: str
    index: str = ""  # type: ignore[assignment]  # what it is called in a lock
    wheels: tuple[str, ...] = ()
    requires: tuple[Edge, ...] = ()
    extras: Mapping[str, tuple[Edge, ...]] = {}
    groups: Mapping[str, tuple[Edge, ...]] = {}

    @property
    def key(self) -> EntryKey:
        return self.name, self.version, self.index

    @property
    def labelled(self) -> str:
        """The version with its build: a plain one of the wheel host is of the folder that it comes from."""
        folder = self.index.rstrip("/").rpartition("/")[2]
        return f"{self.version}+{folder}" if "+" not in self.version and is_backend(folder) else self.version


class Choice(NamedTuple):
    """What is installed together: a project of the lock, with one of its extras or groups, or with neither."""

    project: str
    kind: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        return f"{self.kind} `{self.name}`" if self.kind else "what is always installed"


class LockFile(NamedTuple):
    """A file; its projects, and every package as an `Edge` names it. `loose` are what it names without a version."""

    file: str
    projects: Mapping[str, LockedPackage]
    packages: Mapping[EntryKey, LockedPackage]
    requires_python: str = ""
    loose: tuple[str, ...] = ()

    def choices(self) -> Iterator[Choice]:
        for name, project in self.projects.items():
            yield Choice(name)
            yield from (Choice(name, "extra", extra) for extra in project.extras)
            yield from (Choice(name, "group", group) for group in project.groups)

    def named(self, choice: Choice) -> tuple[str, ...]:
        """What the project itself requires with this choice, by name."""
        return tuple(dict.fromkeys(edge.name for edge in self._own(choice)))

    def _own(self, choice: Choice) -> tuple[Edge, ...]:
        project = self.projects[choice.project]
        of_kind = {"extra": project.extras, "group": project.groups}.get(choice.kind, {})
        return (*project.requires, *of_kind.get(choice.name, ()))

    def python_for(self, version: str) -> str:
        """This Python, or where the lock is not for it the oldest that it is for: an installer brings one."""
        admitted = admits(self.requires_python, prereleases=True)
        pythons = (version, *(f"3.{minor}" for minor in range(9, 16)))
        return next((python for python in pythons if admitted(python) or admitted(f"{python}.99")), version)

    def installed(self, choice: Choice, machine: Machine) -> dict[str, LockedPackage]:
        python = machine.python
        version = self.python_for(python.version)
        exact = python.exact if version == python.version else None
        holds = _marker_test(choice, marker_facts(version, exact, machine.platform.name, python.implementation))
        chosen: dict[str, LockedPackage] = {}
        seen: set[tuple[str, str, str, str]] = set()
        pending = [*self._own(choice)]
        while pending:
            edge = pending.pop()
            entry = self.packages.get(edge.key) if holds(edge.marker) else None
            if entry is None:
                continue
            for extra in ("", *edge.extras):
                key = (*entry.key, extra)
                if key not in seen:
                    seen.add(key)
                    chosen.setdefault(edge.name, entry)
                    pending += entry.extras.get(extra, ()) if extra else entry.requires
        return chosen


def _marker_test(choice: Choice, facts: Mapping[str, str]) -> Callable[[str], bool]:
    """Whether a marker holds; what it says of extras and groups, of which several are asked at once, is filled in."""
    in_conflicts = f"{choice.kind}-{len(choice.project)}-{choice.project}-{choice.name}"
    holding: dict[str, bool] = {}

    def of_conflict(match: re.Match[str]) -> str:
        return ALWAYS if (match[2] == in_conflicts) == (match[1] == "==") else NEVER

    def of_selection(match: re.Match[str]) -> str:
        kind = "extra" if match[3] == "extras" else "group"
        is_selected = (kind, normal(match[1])) == (choice.kind, choice.name)
        return ALWAYS if is_selected != bool(match[2]) else NEVER

    def holds(marker: str) -> bool:
        if marker not in holding:
            text = _SELECTED.sub(of_selection, _CONFLICT.sub(of_conflict, marker))
            holding[marker] = marker_applies(text, facts)
        return holding[marker]

    return holds


def read_lock(file: str, environ: Mapping[str, str]) -> LockFile:
    """The lock or requirements file of this name; an error where it is none, or cannot be read."""
    name = os.path.basename(file)
    if os.path.isdir(file):
        raise UsageError(f"{file} is a folder", hint=f"`torchpick doctor --python {file}` looks at an environment")
    if name.endswith((".lock", ".toml")):
        return _read_toml(file)
    return _of_requirements(file, environ)


def _read_toml(file: str) -> LockFile:
    try:
        text = content(file, _MOST_BYTES).decode()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", hint="name uv.lock or another lock") from error
    except UnicodeDecodeError as error:
        raise TorchpickError(f"{file} is not a text file", hint="write the lock again", code="TOML") from error
    data = toml.read(_OTHER_FILES.sub("", text), file)
    of_uv = isinstance(data.get("version"), int) and isinstance(data.get("package", []), list)
    tables = data.get("package" if of_uv else "packages")
    if not (of_uv or isinstance(data.get("lock-version"), str)):
        hint = "uv.lock, pylock.*.toml and requirements files are judged"
        raise TorchpickError(f"{file} is neither a uv.lock nor a pylock.toml", hint=hint, code="TOML")
    rows = toml.tables(tables)
    if len(rows) > _MOST_PACKAGES:
        raise TorchpickError(f"{file} has more than {_MOST_PACKAGES:,} packages", hint="split it", code="TOML")
    return _of_uv(file, data, rows) if of_uv else _of_pylock(file, data, rows)


def _of_uv(file: str, data: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> LockFile:
    packages = _by_edge(
        _package(row)._replace(
            requires=_edges(row.get("dependencies")),
            extras=_lists(row.get("optional-dependencies")),
            groups=_lists(row.get("dev-dependencies")),
        )
        for row in rows
    )
    manifest = toml.table_at(data, "manifest")
    members = set(map(normal, toml.texts(manifest.get("members"))))
    roots = {_text(row, "name") for row in rows if _is_root(row.get("source"))} & (
        members or {name for name, _, _ in packages}
    )
    projects = {name: packages[name, "", ""] for name, version, _ in packages if name in roots and not version}
    if not projects:  # of a script (PEP 723)
        projects = {"": LockedPackage("", "", requires=_edges(manifest.get("requirements")))}
    return LockFile(file, projects, packages, _text(data, "requires-python"))


def _by_edge(entries: Iterable[LockedPackage]) -> dict[EntryKey, LockedPackage]:
    """Each entry under every way to name it; the first where a name alone is said."""
    packages: dict[EntryKey, LockedPackage] = {}
    for entry in entries:
        name, version, index = entry.key
        for key in ((name, version, index), (name, version, ""), (name, "", index), (name, "", "")):
            packages.setdefault(key, entry)
    return packages


def _is_root(source: object) -> bool:
    """Whether uv made the entry of a folder: of the project itself, or a member of its workspace."""
    return isinstance(source, dict) and any(key in source for key in ("virtual", "editable", "directory"))


def _of_pylock(file: str, data: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> LockFile:
    """All that it lists under the one project that it does not name; extras and groups stand in its markers."""
    entries = [_package(row) for row in rows]
    edges = tuple(Edge(*entry.key, marker=_text(row, "marker")) for row, entry in zip(rows, entries, strict=True))
    packages = _by_edge(entries)
    extras, groups = (
        {normal(name): () for name in toml.texts(data.get(key))} for key in ("extras", "dependency-groups")
    )
    return LockFile(
        file, {"": LockedPackage("", "", "", (), edges, extras, groups)}, packages, _text(data, "requires-python")
    )


def _of_requirements(file: str, environ: Mapping[str, str]) -> LockFile:
    requirements = read_requirements(RequirementArgs(files=(file,)), environ)
    lines = (line for lines in requirements.sources.values() for line in lines)
    places = [line.place for line in lines if line.place]
    # Several are one index to pip; of the wheel host's a plain version is the one that its folder is called after.
    index = next((place for place in places if "/whl/" in place), places[0] if len(places) == 1 else "")
    pinned = {requested: version for requested in requirements.wanted if (version := _exact(requested))}
    edges = tuple(
        Edge(requested.name, version, extras=requested.extras, marker=requested.marker)
        for requested, version in pinned.items()
    )
    packages = _by_edge(LockedPackage(requested.name, version, index) for requested, version in pinned.items())
    loose = tuple(requested.name for requested in requirements.wanted if requested not in pinned)
    return LockFile(file, {"": LockedPackage("", "", requires=edges)}, packages, loose=loose)


def _exact(requested: Requested) -> str:
    """The one version that a requirement allows; empty for a range."""
    version = requested.specifier.removeprefix("===" if requested.specifier.startswith("===") else "==")
    return "" if version == requested.specifier or set(version) & {",", "*"} else version.strip()


def _package(row: Mapping[str, Any]) -> LockedPackage:
    addresses = [_text(wheel, "url") or _text(wheel, "name") for wheel in toml.tables(row.get("wheels"))]
    wheels = tuple(address.partition("#")[0].rpartition("/")[2].replace("%2B", "+") for address in addresses)
    return LockedPackage(_name(row), _text(row, "version"), _index_of(row), wheels)


def _index_of(row: Mapping[str, Any]) -> str:
    source = row.get("source")
    index = source.get("registry") if isinstance(source, dict) else row.get("index")
    return index if isinstance(index, str) else ""


def _edges(rows: object) -> tuple[Edge, ...]:
    return tuple(
        Edge(
            _name(row), _text(row, "version"), _index_of(row), tuple(toml.texts(row.get("extra"))), _text(row, "marker")
        )
        for row in toml.tables(rows)
    )


def _lists(table: object) -> dict[str, tuple[Edge, ...]]:
    return {name: _edges(rows) for name, rows in table.items()} if isinstance(table, dict) else {}


def _name(row: Mapping[str, Any]) -> str:
    return normal(_text(row, "name"))


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
