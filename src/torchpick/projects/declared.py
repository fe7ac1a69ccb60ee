"""What a project should declare, as values, and as the settings of one tool: which key of its file holds what. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from torchpick.environment.marks import ArrayEntry, ProjectSetting, ProjectSettings
from torchpick.model.noun import Noun


class Extra(Noun):
    """An extra or a dependency group: its requirements, and whom it supports in lines of a comment.

    `backend` is empty where the extra is a range that the default index satisfies.
    """

    name: str
    requirements: tuple[str, ...]
    comment: tuple[str, ...]
    backend: str = ""


class Index(Noun):
    """A wheel index by the name that sources refer to."""

    name: str
    url: str


class Plan(Noun):
    """`tool` is empty for a library; `sources` maps a package to (index, extra) pairs.

    `builds_with_torch` are packages that are built from source against the torch of the environment.
    """

    extras: tuple[Extra, ...]
    tool: str = ""
    groups: bool = False
    indexes: tuple[Index, ...] = ()
    sources: Mapping[str, tuple[tuple[str, str], ...]] = {}
    builds_with_torch: tuple[str, ...] = ()


def wanted(plan: Plan) -> ProjectSettings:
    """The settings of the plan's tool."""
    if plan.tool == "uv":
        return _uv(plan)
    return _poetry(plan) if plan.tool == "poetry" else ProjectSettings(_extras(plan))


def _extras(plan: Plan) -> tuple[ProjectSetting, ...]:
    home = ("dependency-groups",) if plan.groups else ("project", "optional-dependencies")
    return tuple(
        ProjectSetting(
            (*home, each.name),
            list(each.requirements),
            tuple(part for line in each.comment for part in textwrap.wrap(line, 100, subsequent_indent="  ")),
        )
        for each in plan.extras
    )


def _entries(plan: Plan, table: str, **more: object) -> tuple[ArrayEntry, ...]:
    path = ("tool", plan.tool, table)
    return tuple(ArrayEntry(path, {"name": each.name, "url": each.url, **more}) for each in plan.indexes)


def _uv(plan: Plan) -> ProjectSettings:
    uv = ("tool", "uv")
    kind = "group" if plan.groups else "extra"
    found = [*_extras(plan)]
    for package, pairs in plan.sources.items():
        found.append(ProjectSetting((*uv, "sources", package), [{"index": index, kind: name} for index, name in pairs]))
    # So that such a package is built against the torch that is installed, and not against the newest.
    against = [{"requirement": "torch", "match-runtime": True}]
    found += [ProjectSetting((*uv, "extra-build-dependencies", package), against) for package in plan.builds_with_torch]
    if len(plan.extras) > 1:  # ours exclude each other
        found.append(ProjectSetting((*uv, "conflicts"), [[{kind: extra.name} for extra in plan.extras]]))
    return ProjectSettings(tuple(found), _entries(plan, "index", explicit=True), binding=frozenset(plan.sources))


def _poetry(plan: Plan) -> ProjectSettings:
    """Poetry separates the extras by markers: each source holds where its extra is on and no other."""
    names = [each.name for each in plan.extras]
    dependencies = tuple(
        ProjectSetting(
            ("tool", "poetry", "dependencies", package),
            [{"source": index, "markers": _alone(name, names)} for index, name in pairs],
        )
        for package, pairs in plan.sources.items()
    )
    return ProjectSettings((*_extras(plan), *dependencies), _entries(plan, "source", priority="explicit"))


def _alone(name: str, names: Iterable[str]) -> str:
    """The marker under which this extra is on and none of the others."""
    return " and ".join([f"extra == '{name}'", *(f"extra != '{other}'" for other in names if other != name)])
