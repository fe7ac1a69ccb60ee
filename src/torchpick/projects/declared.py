"""What a project should declare, as values, and as the settings of one tool: which key of its file holds what. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from torchpick.environment.projectfile import ArrayEntry, ProjectSetting, ProjectSettings
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
    """`sources`, which a library has none of, maps a package to (index, extra) pairs.

    `builds_with_torch` are packages that are built from source against the torch of the environment.
    """

    extras: tuple[Extra, ...]
    groups: bool = False
    indexes: tuple[Index, ...] = ()
    sources: Mapping[str, tuple[tuple[str, str], ...]] = {}
    builds_with_torch: tuple[str, ...] = ()


def wanted(plan: Plan) -> ProjectSettings:
    """The extras, and for an app what uv needs beside them."""
    return _uv(plan) if plan.sources else ProjectSettings(_extras(plan))


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
    entries = (
        ArrayEntry((*uv, "index"), {"name": each.name, "url": each.url, "explicit": True}) for each in plan.indexes
    )
    return ProjectSettings(tuple(found), tuple(entries), binding=frozenset(plan.sources))
