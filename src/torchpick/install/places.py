"""What is asked for by its place: a wheel or sdist at an address or a path, a folder with a project, a repository.

Each is the one candidate of its project. A folder says what it requires where its pyproject.toml fixes that; of a
repository, and of a project that only a build can describe, it is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from torchpick.environment import requirementfiles, toml
from torchpick.environment.requirementfiles import located, text_of
from torchpick.environment.requirements import Requested, Requirements
from torchpick.errors import RequirementError, UsageError, WheelError
from torchpick.index import wheelnames
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projectfiles import ProjectFile, file_at
from torchpick.index.user_index import IndexTarget
from torchpick.model.build import TRIO, is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.metadata import Metadata, of_pyproject
from torchpick.model.package import Package, PackageFacts, Stage
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal

_REPOSITORY = re.compile(r"(?:git|hg|svn|bzr)\+", re.IGNORECASE)
# The version of a folder whose build decides it.
UNKNOWN_VERSION = "0"


class PlacedProject(NamedTuple):
    """The one candidate of a project: its file, or what its folder says; `why` neither is known before it is built."""

    name: str
    source: Requested
    file: ProjectFile | None = None
    metadata: Metadata | None = None
    why: str = ""


def with_names(asked: Requirements) -> Requirements:
    """The same, in which what lies in a folder or a file has the name that it says of itself."""
    return asked._replace(wanted=tuple(_named(each) for each in asked.wanted))


def _named(each: Requested) -> Requested:
    if each.name or not each.place:
        return each
    name = project_at(each).name
    return each._replace(name=name) if name else each


def placed_projects(wanted: Iterable[Requested]) -> tuple[PlacedProject, ...]:
    """Whatever is asked for by its place, torch's family aside."""
    return tuple(project_at(each) for each in wanted if each.place and each.name not in TRIO)


def project_at(each: Requested) -> PlacedProject:
    """What lies there."""
    if _REPOSITORY.match(each.place):
        egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", each.place)
        name = each.name or (normal(egg[1]) if egg else "")
        return PlacedProject(name, each, why="it is built from a repository")
    path = located(each.place)
    if "://" not in path and os.path.isdir(path):
        return _in_folder(path, each)
    try:
        file = file_at(each.place if "://" in path else path)
    except WheelError:
        if "://" not in path and not os.path.exists(path):
            hint = "check the path"
            raise UsageError(f"{each.source}: there is no such file or folder", hint=hint) from None
        return PlacedProject(each.name, each, why="it is an archive whose name does not say what it is")
    if each.name not in ("", file.project):
        hint = f"write `{file.project} @ …`, or name another file"
        raise RequirementError(f"{each.source} is a file of {file.project}", hint=hint)
    return PlacedProject(file.project, each, file)


def _in_folder(path: str, each: Requested) -> PlacedProject:
    """A project by its pyproject.toml."""
    file = os.path.join(path, "pyproject.toml")
    if not os.path.isfile(file):
        return PlacedProject(each.name, each, why="it has no pyproject.toml")
    name, metadata = read_pyproject(file)
    why = "" if metadata else "its pyproject.toml leaves to the build what it requires"
    return PlacedProject(each.name or name, each, metadata=metadata, why=why)


def read_pyproject(file: str) -> tuple[str, Metadata | None]:
    """The name of a project, empty where it has none, and what it requires where that is fixed."""
    try:
        table = toml.loads(text_of(file, file))
        project = table.get("project")
        project = project if isinstance(project, dict) else {}
        name, version = project.get("name"), project.get("version")
        name = name if isinstance(name, str) else ""
        version = version if isinstance(version, str) else UNKNOWN_VERSION
        return normal(name), of_pyproject(table, name, version) if name else None
    except ValueError as error:
        raise UsageError(f"{file}: {error}", hint="correct that line; installers read it too") from error


def facts_of(project: PlacedProject, table: PackageFacts | None) -> PackageFacts | None:
    """A project with this one candidate; None where its name is not known, so that nobody can ask for it."""
    if not project.name or project.why:
        return None
    facts = table or PackageFacts(project.name, (), in_table=False)
    file, metadata = project.file, project.metadata
    if file is not None:
        row = Package(project.name, file.version, file=file.file, sha256=file.sha256, stage=Stage.LISTED)
    else:
        requires, python = ((), "") if metadata is None else (metadata.requires, metadata.requires_python)
        version = UNKNOWN_VERSION if metadata is None else metadata.version
        row = Package(project.name, version, requires=requires, requires_python=python, file="pyproject.toml")
    return facts._replace(versions=(row._replace(place=public_place(project.source.place)),), listed=True)


def public_place(place: str) -> str:
    """The place without passwords and without its fragment."""
    return redacted(place.partition("#")[0])


def check_fit(file: ProjectFile, target: IndexTarget, source: Requested) -> None:
    """Refuse a wheel for another Python or platform, which no installer would take."""
    if file.wheel is not None and wheelnames.rank(file.wheel, target.tag, target.platform) is None:
        wanted = f"{python_name(target.tag)} on {target.platform.name}"
        hint = "name a wheel for that, or the project by its name"
        raise RequirementError(f"{redacted(source.source)} is not for {wanted}", hint=hint)


# What pip and uv call them.
_MAIN, _EXTRA = ("--index-url", "-i", "--default-index"), ("--extra-index-url", "--index")
_LINKS = ("--find-links", "-f")


def with_more_indexes(places: IndexPlaces, asked: Requirements, passed_on: Sequence[str] = ()) -> IndexPlaces:
    """The user's indexes, those of the requirements files and those of the words that are passed on to the installer.

    PyTorch's own index in a file is left out: so many files name one.
    """
    main, extra, links = list[str](), list[str](), list[str]()
    for option, value, file in (*_options(passed_on), *_in_files(asked)):
        if option in _LINKS:
            links.append(_page(value, file))
        elif option in _MAIN:
            main.append(value)
        elif option in _EXTRA:
            extra.append(value)
    if not (main or extra or links):
        return places
    indexes = (*(main[-1:] or places.indexes[:1]), *places.indexes[1:], *extra)
    if places.source == "uv":  # the default one comes last there
        indexes = (*extra, *places.indexes[:-1], *(main[-1:] or places.indexes[-1:]))
    return places._replace(indexes=tuple(dict.fromkeys(indexes)), links=(*places.links, *links))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each word as an option with its value, whether that follows `=` or is the next word."""
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        name, mark, value = word.partition("=")
        yield name, value if mark else after, ""


def _in_files(asked: Requirements) -> Iterator[tuple[str, str, str]]:
    for (path, _), entries in asked.sources.items():
        yield from ((each.option, each.value, path) for each in entries if each.place and not is_wheel_host(each.place))


def _page(value: str, file: str) -> str:
    """A page of links; pip looks for a relative one beside the file first."""
    if "://" in value or value.startswith("file:"):
        return value
    beside = os.path.join(os.path.dirname(file), value)
    from pathlib import Path

    return Path(beside if os.path.exists(beside) else value).absolute().as_uri()


def index_order_notes(indexes: Mapping[str, tuple[str, ...]], installer: str | None) -> Iterator[Note]:
    """The projects that lie on more than one index, where pip and uv differ."""
    rule = "uv takes the first that has it" if installer == "uv" else "pip takes the newest of all"
    for name, urls in indexes.items():
        if len(urls) > 1:
            yield Note("INDEX_ORDER", f"{name} is on {' and '.join(map(redacted, urls))}, and {rule}")


def unread_notes(asked: Requirements, placed: Iterable[PlacedProject]) -> Iterator[Note]:
    """What of all that is asked for is known only once it is built; none of it is approved in silence."""
    for project in placed:
        if project.why:
            text = f"what {redacted(project.source.source)} requires is not known: {project.why}"
            yield Note("PACKAGE_UNREAD", text)
    for path in asked.opaque:
        if not path.endswith("pyproject.toml"):
            yield Note("PACKAGE_UNREAD", f"what {path} requires is not known: only its build says it")
        elif not requirementfiles.is_static(path):
            yield Note("PACKAGE_UNREAD", f"what {path} requires is not known: it leaves that to the build")
