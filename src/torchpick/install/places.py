"""What is asked for by its place: a wheel or sdist at an address or a path, a folder with a project, a repository.

Each is the one candidate of its project. A folder says what it requires where its pyproject.toml fixes that; of a
repository, and of a project that only a build can describe, it is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from torchpick.environment import requirementfiles, toml
from torchpick.environment.requirementfiles import located, text_of
from torchpick.environment.requirements import Requested, Requirements
from torchpick.errors import RequirementError, UsageError, WheelError
from torchpick.index import wheelnames
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget, file_at
from torchpick.install.user_settings import options_of
from torchpick.model.address import is_wheel_host, redacted
from torchpick.model.machine import Note
from torchpick.model.metadata import Metadata, of_pyproject
from torchpick.model.package import Package, PackageFacts, Stage
from torchpick.model.versions import grouped, normal

_REPOSITORY = re.compile(r"(?:git|hg|svn|bzr)\+", re.IGNORECASE)
# The version of a folder whose build decides it.
_UNKNOWN_VERSION = "0"


class PlacedProject(NamedTuple):
    """The one candidate of a project: its file, or what its folder says; `why` neither is known before it is built."""

    name: str
    source: Requested
    file: ProjectFile | None = None
    metadata: Metadata | None = None
    why: str = ""


def with_names(asked: Requirements) -> Requirements:
    """What lies in a folder or a file gets the name that it says of itself."""
    wanted = (
        requested if requested.name or not requested.place else requested._replace(name=project_at(requested).name)
        for requested in asked.wanted
    )
    return asked._replace(wanted=tuple(wanted))


def project_at(requested: Requested) -> PlacedProject:
    place, name = requested.place, requested.name
    if _REPOSITORY.match(place):
        egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", place)
        return PlacedProject(name or (normal(egg[1]) if egg else ""), requested, why="it is built from a repository")
    path = located(place)
    if "://" not in path and os.path.isdir(path):
        return _project_in(path, requested)
    try:
        file = file_at(place if "://" in place else path)
    except WheelError:
        if "://" not in path and not os.path.exists(path):
            message = f"{requested.source}: there is no such file or folder"
            raise UsageError(message, hint="check the path") from None
        return PlacedProject(name, requested, why="it is an archive whose name does not say what it is")
    if name not in ("", file.project):
        hint = f"write `{file.project} @ …`, or name another file"
        raise RequirementError(f"{requested.source} is a file of {file.project}", hint=hint)
    return PlacedProject(file.project, requested, file)


def _project_in(folder: str, requested: Requested) -> PlacedProject:
    file = os.path.join(folder, "pyproject.toml")
    if not os.path.isfile(file):
        return PlacedProject(requested.name, requested, why="it has no pyproject.toml")
    name, metadata = read_pyproject(file)
    why = "" if metadata else "its pyproject.toml leaves to the build what it requires"
    return PlacedProject(requested.name or name, requested, metadata=metadata, why=why)


def read_pyproject(file: str) -> tuple[str, Metadata | None]:
    """The name of a project, empty where it has none, and what it requires where that is fixed."""
    try:
        table = toml.loads(text_of(file, file))
        project = table.get("project")
        values = project if isinstance(project, dict) else {}
        name, version = (value if isinstance(value := values.get(key), str) else "" for key in ("name", "version"))
        return normal(name), of_pyproject(table, name, version or _UNKNOWN_VERSION) if name else None
    except ValueError as error:
        raise UsageError(f"{file}: {error}", hint="correct that line; installers read it too") from error


def facts_of(project: PlacedProject, table: PackageFacts | None) -> PackageFacts | None:
    """A project with this one candidate; None where that is known only once it is built, or has no name to ask for."""
    name, file, metadata = project.name, project.file, project.metadata
    place = redacted(project.source.place).partition("#")[0]  # without passwords and fragment
    if file is not None:
        row = Package(name, file.version, file=file.file, sha256=file.sha256, stage=Stage.LISTED, place=place)
    elif metadata is not None:
        requires, python = metadata.requires, metadata.requires_python
        row = Package(
            name, metadata.version, requires=requires, requires_python=python, file="pyproject.toml", place=place
        )
    else:
        return None
    facts = table or PackageFacts(name, (), in_table=False)
    return facts._replace(versions=(row,), listed=True)


def check_fit(file: ProjectFile, target: IndexTarget, source: Requested) -> None:
    """Refuse a wheel for another Python or platform, which no installer would take."""
    if file.name.is_wheel and wheelnames.rank(file.name, target.tag, target.platform) is None:
        hint = "name a wheel for that, or the project by its name"
        raise RequirementError(f"{redacted(source.source)} is not for {target}", hint=hint)


# What pip and uv call them.
_MAIN, _EXTRA = ("--index-url", "-i", "--default-index"), ("--extra-index-url", "--index")
_LINKS = ("--find-links", "-f")


def with_more_indexes(places: IndexPlaces, asked: Requirements, passed_on: Sequence[str] = ()) -> IndexPlaces:
    """The user's indexes, those of the requirements files and those of the words that are passed on to the installer.

    PyTorch's own index in a file is left out: so many files name one.
    """
    main, extra, links = list[str](), list[str](), list[str]()
    options = [(option, value, "") for option, value in options_of(passed_on)]
    options += [
        (line.option, line.value, path)
        for (path, _), lines in asked.sources.items()
        for line in lines
        if line.place and not is_wheel_host(line.place)
    ]
    for option, value, file in options:
        if option in _LINKS:
            links.append(_page(value, file))
        elif option in _MAIN:
            main = [value]
        elif option in _EXTRA:
            extra.append(value)
    if not (main or extra or links):
        return places
    if places.source == "uv":  # the default one comes last there
        indexes = (*extra, *places.indexes[:-1], *(main or places.indexes[-1:]))
    else:
        indexes = (*(main or places.indexes[:1]), *places.indexes[1:], *extra)
    return places._replace(indexes=tuple(dict.fromkeys(indexes)), links=(*places.links, *links))


def _page(value: str, file: str) -> str:
    """A page of links; pip looks for a relative one beside the file first."""
    if "://" in value or value.startswith("file:"):
        return value
    beside = os.path.join(os.path.dirname(file), value)
    return Path(beside if os.path.exists(beside) else value).absolute().as_uri()


def index_order_notes(indexes: Mapping[str, tuple[str, ...]], installer: str | None) -> Iterator[Note]:
    """The projects that lie on more than one index, where pip and uv differ: those on the same ones together."""
    rule = "uv takes the first that has it" if installer == "uv" else "pip takes the newest of all"
    for urls, names in grouped((urls, name) for name, urls in indexes.items() if len(urls) > 1).items():
        verb = "are" if len(names) > 1 else "is"
        places = " and ".join(map(redacted, urls))
        yield Note("INDEX_ORDER", f"{', '.join(names)} {verb} on {places}, and {rule}")


def unread_notes(asked: Requirements, projects: Iterable[PlacedProject]) -> Iterator[Note]:
    """What of all that is asked for is known only once it is built; none of it is approved in silence."""
    reasons = [(redacted(project.source.source), project.why) for project in projects if project.why]
    for path in asked.opaque:
        if not path.endswith("pyproject.toml"):
            reasons.append((path, "only its build says it"))
        elif requirementfiles.read_dependencies(path, path) is None:
            reasons.append((path, "it leaves that to the build"))
    for source, why in reasons:
        yield Note("PACKAGE_UNREAD", f"what {source} requires is not known: {why}")
