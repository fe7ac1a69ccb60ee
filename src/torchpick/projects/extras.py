"""An extra or group of a project: its requirements, whom it supports whatever the machine, and which keys hold it.

The judgement is resolve's. Pure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from torchpick.decide import matrix
from torchpick.environment.projectfile import ProjectSetting, ProjectSettings
from torchpick.model.arch import Fit
from torchpick.model.build import Build, python_name, python_span
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, Kind, Table
from torchpick.model.versions import grouped


class Extra(NamedTuple):
    """An extra or a dependency group: its requirements, and whom it supports in lines of a comment.

    `backend` is empty where the extra is a range that the default index satisfies.
    """

    name: str
    requirements: tuple[str, ...]
    comment: tuple[str, ...]
    backend: str = ""


class Index(NamedTuple):
    """A wheel index by the name that sources refer to."""

    name: str
    url: str


class Plan(NamedTuple):
    """`sources`, which a library has none of, are uv's, by package.

    `builds_with_torch` are packages that are built from source against the torch of the environment; `conflicts` the
    names that exclude each other, the author's own among them.
    """

    extras: tuple[Extra, ...]
    groups: bool = False
    indexes: tuple[Index, ...] = ()
    sources: Mapping[str, Sequence[Mapping[str, str]]] = {}
    builds_with_torch: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def settings_of(plan: Plan) -> ProjectSettings:
    """The extras, and for an app what uv needs beside them."""
    extras = _extras(plan)
    if not plan.sources:
        return ProjectSettings(extras)
    uv, kind = ("tool", "uv"), "group" if plan.groups else "extra"
    settings = [*extras]
    settings += [ProjectSetting((*uv, "sources", package), list(entries)) for package, entries in plan.sources.items()]
    # So that such a package is built against the torch that is installed, and not against the newest.
    torch = [{"requirement": "torch", "match-runtime": True}]
    settings += [ProjectSetting((*uv, "extra-build-dependencies", name), torch) for name in plan.builds_with_torch]
    if len(plan.conflicts) > 1:
        settings.append(ProjectSetting((*uv, "conflicts"), [[{kind: name} for name in plan.conflicts]]))
    tables = ({"name": index.name, "url": index.url, "explicit": True} for index in plan.indexes)
    indexes = tuple(ProjectSetting((*uv, "index"), table) for table in tables)
    return ProjectSettings(tuple(settings), indexes, binding=frozenset(plan.sources))


def _extras(plan: Plan) -> tuple[ProjectSetting, ...]:
    table = ("dependency-groups",) if plan.groups else ("project", "optional-dependencies")
    return tuple(
        ProjectSetting(
            (*table, extra.name),
            list(extra.requirements),
            tuple(part for line in extra.comment for part in textwrap.wrap(line, 100, subsequent_indent="  ")),
        )
        for extra in plan.extras
    )


# What people call the platforms that a library's users have.
PLATFORMS = {
    "linux-x86_64": "Linux x86-64",
    "linux-aarch64": "Linux aarch64",
    "windows-x86_64": "Windows x86-64",
    "macos-arm64": "macOS",
}


class BuildAudience(NamedTuple):
    """One build on one platform: the kinds of GPU it has machine code for, and the oldest driver that carries it."""

    build: Build
    kinds: tuple[Kind, ...]
    driver: str | None


def default_table(builds: Iterable[Build], table: Table) -> Table:
    """The default index as a table: each of its builds under the backend that it was built for."""
    by_platform = grouped(
        (build.platform, build._replace(backend=f"cu{build.cuda.replace('.', '')}" if build.cuda else "cpu"))
        for build in builds
        if build.backend == "default"
    )
    return table._replace(builds={platform: BuildsByRelease.of(group) for platform, group in by_platform.items()})


def served(build: Build, table: Table) -> BuildAudience:
    """Whom this build supports; each kind of GPU with the newest driver that supports it.

    PTX alone does not count: it needs a newer driver than the one that is named.
    """
    if build.family != "cuda" or not build.pythons:
        return BuildAudience(build, (), None)
    platform = Platform.parse(build.platform)
    kinds = tuple(kind for kind in table.nvidia if kind.found_on(build.platform))
    machine = Machine(platform, python_of(build.pythons[-1]), None, matrix.gpus_of(kinds))
    rows = matrix.rows(machine, table._replace(builds={build.platform: BuildsByRelease.of([build])}), Wish())
    supported = tuple(
        kind
        for kind, row in zip(kinds, rows, strict=True)
        if row.newest is not None and all(gpu.fit is not Fit.JIT for gpu in row.newest.fits)
    )
    floor = table.drivers.floor(build.cuda, platform.os) if build.cuda is not None else None
    return BuildAudience(build, supported, floor)


def python_of(tag: str) -> Python:
    """`cp314t` → that Python, as a given one."""
    name = python_name(tag).split()[-1]
    return Python(name.removesuffix("t"), tag[:2], name.endswith("t"))


def generations(kinds: Sequence[Kind], table: Table) -> str:
    """`Maxwell to Hopper (sm_50 to sm_90)`; where there is a gap, every member is named."""
    if not kinds:
        return "no GPU"
    kinds = sorted(kinds, key=lambda kind: kind.arch)
    names = list(dict.fromkeys(kind.generation for kind in kinds))
    arches = [str(kind.arch) for kind in kinds]
    if len(kinds) > 2 and _unbroken(kinds, table):
        last = kinds[-1].generation
        span_ = last if names[0] == last else f"{names[0]} to {last}"
        return f"{span_} ({arches[0]} to {arches[-1]})"
    return f"{', '.join(names)} ({', '.join(arches)})"


def _unbroken(kinds: Sequence[Kind], table: Table) -> bool:
    """Whether no kind of the list between the first and the last is missing, chips of Arm boards aside."""
    first, last = kinds[0].arch, kinds[-1].arch
    between = [kind for kind in table.nvidia if first <= kind.arch <= last and not kind.platforms]
    return all(kind in kinds for kind in between)


def pythons(tags: Iterable[str]) -> str:
    """`Python 3.9 to 3.13, 3.13t`."""
    tags = tuple(tags)
    return f"Python {python_span(tags)}" if tags else "no Python"
