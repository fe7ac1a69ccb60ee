"""What a project file says of torch, less what torchpick wrote into it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchpick.environment import toml
from torchpick.environment.marks import MARK, PIN, ArrayEntry, ProjectSetting, ProjectSettings, without
from torchpick.errors import TorchpickError
from torchpick.model.build import COMPANIONS
from torchpick.model.noun import Noun
from torchpick.model.versions import named, parsed

# The tools that have tables of their own for where a package comes from.
TOOLS = ("uv", "poetry")


class OwnExtra(Noun):
    """An extra or group of the author's that narrows torch or a companion; None is a requirement by URL."""

    name: str
    group: bool
    ranges: Mapping[str, str | None]


class PackageVersion(Noun):
    """What one version of a package asks of torch, and the CUDA major that it links beside torch, if any."""

    torch: str
    cuda: str | None


class NeededPackage(Noun):
    """A package that the project needs, and its versions that are known, newest first."""

    name: str
    versions: tuple[PackageVersion, ...]


class Project(Noun):
    """What a project says of itself, as far as torch is concerned.

    `needs` are the names that it depends on. `limit` is what uv's constraints allow of torch, which hold in a checkout
    alone. `builds_with_torch` are packages that are built from source against the torch of the environment.
    """

    name: str = "mylib"
    torch: str = ""
    companions: tuple[str, ...] = ()
    requires_python: str = ""
    tool: str = ""
    packaged: bool = True
    needs: tuple[str, ...] = ()
    limit: str = ""
    packages: tuple[NeededPackage, ...] = ()
    own: tuple[OwnExtra, ...] = ()
    builds_with_torch: tuple[str, ...] = ()


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
    own = (*_own(optional, group=False), *_own(groups, group=True))
    return Project(
        name=str(about.get("name") or "mylib"),
        torch=_range(requirements) or _range_of_groups(own),
        companions=tuple(name for name in COMPANIONS if name in names),
        requires_python=str(about.get("requires-python") or ""),
        tool=next((name for name in TOOLS if name in toml.table_at(data, "tool")), ""),
        packaged="build-system" in data and uv.get("package") is not False,
        needs=tuple(sorted(names - {"", "python", "torch", *COMPANIONS})),
        limit=",".join(_limits(uv)),
        own=own,
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


def _own(table: Mapping[str, Any], *, group: bool) -> Iterator[OwnExtra]:
    """What narrows torch or a companion."""
    for name, values in table.items():
        ranges: dict[str, str | None] = {}
        for text in toml.texts(values):
            if named(text) in ("torch", *COMPANIONS):
                try:
                    requirement = parsed(text)
                except ValueError:
                    continue
                if requirement.url or requirement.specifier:
                    ranges[named(text)] = None if requirement.url else str(requirement.specifier)
        if ranges:
            yield OwnExtra(name, group, ranges)


def _range_of_groups(own: Iterable[OwnExtra]) -> str:
    """Torch's range where dependency groups alone name it, and do not differ."""
    said = {one.ranges["torch"] for one in own if one.group and one.ranges.get("torch")}
    (only,) = said if len(said) == 1 else ("",)
    return only or ""


def _range(requirements: list[str]) -> str:
    """The specifier of the project's own torch; requirements with markers say it for some machines only."""
    found = []
    for text in requirements:
        if named(text) != "torch":
            continue
        try:
            requirement = parsed(text)
        except ValueError as error:
            raise TorchpickError(f"`{text}` is not a valid requirement: {error}", hint="fix it first") from error
        if requirement.url or requirement.marker:
            what = "URL" if requirement.url else "marker"
            hint = 'give the range with `--torch ">=2.5"`'
            raise TorchpickError(f"`{text}` has a {what}, so it is not a range for every machine", hint=hint)
        parts = sorted(map(str, requirement.specifier), key=lambda each: (each.startswith("<"), each))
        found.append(",".join(parts))
    return ",".join(each for each in found if each)


def pinned(
    pins: Mapping[str, str], backend: str | None, index: Mapping[str, object] | None, links: ProjectSetting | None
) -> ProjectSettings:
    """A project of uv's, or a script's own block, pinned to one build: whatever is added, locked or installed in it.

    `backend` is for `uv pip` alone, which has its own way to the wheel host; `links` takes its place where uv does not
    know the backend, or the wheels lie on a mirror. Without an `index` the project's own have the build.
    """
    uv = ("tool", "uv")
    found = [ProjectSetting((*uv, "constraint-dependencies"), [f"{name}=={pins[name]}" for name in pins])]
    found += [ProjectSetting((*uv, "torch-backend"), backend)] if backend else []
    found += [links] if links else []
    if index is None:
        return ProjectSettings(tuple(found), mark=PIN, binding=pins)
    found += [ProjectSetting((*uv, "sources", name), {"index": index["name"]}) for name in pins]
    return ProjectSettings(tuple(found), (ArrayEntry((*uv, "index"), index),), PIN, pins)
