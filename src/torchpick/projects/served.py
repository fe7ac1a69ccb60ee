"""Whom a build supports, whatever the machine: kinds of GPU, drivers, Pythons. The judgement is resolve's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchpick.decide import matrix
from torchpick.model.arch import Fit
from torchpick.model.build import Build
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name, span
from torchpick.model.request import Wish
from torchpick.model.table import BuildsByRelease, Kind, Table
from torchpick.model.versions import grouped

# What people call the platforms that a library's users have.
PLATFORMS = {
    "linux-x86_64": "Linux x86-64",
    "linux-aarch64": "Linux aarch64",
    "windows-x86_64": "Windows x86-64",
    "macos-arm64": "macOS",
}


class BuildAudience(Noun):
    """One build on one platform: the kinds of GPU it has machine code for, and the oldest driver that carries it."""

    build: Build
    kinds: tuple[Kind, ...]
    driver: str | None


def default_table(builds: Iterable[Build], table: Table) -> Table:
    """The default index as a table: each of its builds under the backend that it was built for."""
    found = grouped(
        (build.platform, build._replace(backend=f"cu{build.cuda.replace('.', '')}" if build.cuda else "cpu"))
        for build in builds
        if build.backend == "default"
    )
    return table._replace(builds={platform: BuildsByRelease.of(mine) for platform, mine in found.items()})


def served(build: Build, table: Table) -> BuildAudience:
    """Whom this build supports; each kind of GPU with the newest driver that supports it.

    PTX alone does not count: it needs a newer driver than the one that is named.
    """
    if build.family != "cuda" or not build.pythons:
        return BuildAudience(build, (), None)
    platform = Platform.parse(build.platform)
    kinds = tuple(kind for kind in table.nvidia if kind.found_on(build.platform))
    machine = Machine(platform, python_of(build.pythons[-1]), None, matrix.gpus_of(kinds))
    one = table._replace(builds={build.platform: BuildsByRelease.of([build])})
    rows = matrix.rows(machine, one, Wish())
    good = tuple(kind for kind, row in zip(kinds, rows, strict=True) if _runs(row))
    floor = table.drivers.floor(build.cuda, platform.os) if build.cuda is not None else None
    return BuildAudience(build, good, floor)


def _runs(row: matrix.Row) -> bool:
    best = row.newest
    return best is not None and all(each.fit is not Fit.JIT for each in best.fits)


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
    found = tuple(tags)
    return f"Python {span(found)}" if found else "no Python"
