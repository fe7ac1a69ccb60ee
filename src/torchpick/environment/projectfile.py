"""What a project file says of torch, less what torchpick wrote into it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.requirements import Requirement

from torchpick.environment import toml
from torchpick.environment.marks import MARK, PIN, ArrayEntry, ProjectSetting, ProjectSettings, without
from torchpick.environment.requirementfiles import requirement
from torchpick.errors import TorchpickError
from torchpick.model.build import COMPANIONS, TRIO
from torchpick.model.noun import Noun
from torchpick.model.versions import named, parsed


class Project(Noun):
    """What a project says of itself, as far as torch is concerned.

    `needs` are the names that it depends on. `limit` is what uv's constraints allow of torch, which hold in a checkout
    alone.
    """

    torch: str = ""
    companions: tuple[str, ...] = ()
    requires_python: str = ""
    packaged: bool = True
    needs: tuple[str, ...] = ()
    limit: str = ""


def read(text: str, what: str = "it") -> Project:
    """What the file says of itself; whatever is not of the form it must have counts as not said."""
    data = toml.read(without(without(text, PIN), MARK), what)
    if "project" not in data and toml.table_at(data, "tool", "poetry"):
        hint = "Poetry 2 reads [project]: move name, version and dependencies there"
        raise TorchpickError(f"{what} has no [project] table", hint=hint, code="TOML")
    about = toml.table_at(data, "project")
    requirements = toml.texts(about.get("dependencies"))
    optional = toml.table_at(about, "optional-dependencies")
    groups = toml.table_at(data, "dependency-groups")
    uv = toml.table_at(data, "tool", "uv")
    more = [text for table in (optional, groups) for values in table.values() for text in toml.texts(values)]
    names = set(map(named, (*requirements, *more, *toml.texts(uv.get("dev-dependencies")))))
    return Project(
        torch=_range(requirements),
        companions=tuple(name for name in COMPANIONS if name in names),
        requires_python=str(about.get("requires-python") or ""),
        packaged="build-system" in data and uv.get("package") is not False,
        needs=tuple(sorted(names - {"", "python", *TRIO})),
        limit=",".join(_limits(uv)),
    )


def _limits(uv: Mapping[str, Any]) -> Iterator[str]:
    """What the author's constraints allow of torch on every machine."""
    for text in toml.texts(uv.get("constraint-dependencies")):
        try:
            requirement = parsed(text)
        except ValueError:
            continue  # uv says what is wrong with it
        if named(text) == "torch" and requirement.specifier and not requirement.marker:
            yield str(requirement.specifier)


def valid(text: str) -> Requirement:
    """The requirement of a file that a person has to fix where it is none."""
    try:
        return parsed(text)
    except ValueError as error:
        raise TorchpickError(f"`{text}` is not a valid requirement: {error}", hint="fix it first") from error


def _range(requirements: list[str]) -> str:
    """The specifier of the project's own torch; requirements with markers say it for some machines only."""
    found = []
    for text in requirements:
        if named(text) != "torch":
            continue
        requirement = valid(text)
        if requirement.url or requirement.marker:
            what = "URL" if requirement.url else "marker"
            hint = 'give the range: `torchpick extras "torch>=2.5"`'
            raise TorchpickError(f"`{text}` has a {what}, so it is not a range for every machine", hint=hint)
        parts = sorted(map(str, requirement.specifier), key=lambda each: (each.startswith("<"), each))
        found.append(",".join(parts))
    return ",".join(each for each in found if each)


def pinned(
    pins: Mapping[str, str], index: Mapping[str, object] | None, links: ProjectSetting | None
) -> ProjectSettings:
    """A project of uv's, or a script's own block, pinned to one build: whatever is added, locked or installed in it.

    `links` is for what names no index itself: `uv pip`, and what requires torch. Without an `index` the project's own
    have the build.
    """
    uv = ("tool", "uv")
    found = [ProjectSetting((*uv, "constraint-dependencies"), [requirement(name, f"=={pins[name]}") for name in pins])]
    found += [links] if links else []
    if index is None:
        return ProjectSettings(tuple(found), mark=PIN, binding=frozenset(pins))
    found += [ProjectSetting((*uv, "sources", name), {"index": index["name"]}) for name in pins]
    return ProjectSettings(tuple(found), (ArrayEntry((*uv, "index"), index),), PIN, frozenset(pins))
