"""Extras for a library that is published to an index: public ranges only, for what the default index has. Pure.

A published library cannot name an index, so an extra can only be a range, and what a range gets is the newest release
in it that has a wheel for the Python. Below, that is what is asked of the table, Python by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from torchpick.environment.projectfile import Project
from torchpick.errors import UsageError
from torchpick.model.build import Build, python_order
from torchpick.model.table import Kind, Table
from torchpick.model.versions import admits, major_minor, numbers, release_key
from torchpick.projects.extras import PLATFORMS, BuildAudience, Extra, default_table, generations, pythons, served

# Where the default index has wheels for GPUs, so what an extra is made for.
HOME = "linux-x86_64"

Admits = Callable[[str], bool]


class VersionRange(NamedTuple):
    """`torch>=2.5,<2.8`: the project's own specifier and a cap; what it gets per Python, the newest release first."""

    requirement: str
    gets: tuple[tuple[BuildAudience, tuple[str, ...]], ...]
    without: tuple[str, ...]


class Shop:
    """The default index within a project's range: what each platform and Python gets from it."""

    def __init__(self, builds: Iterable[Build], table: Table, project: Project) -> None:
        self.table = default_table(builds, table)
        self.project = project
        self.admits = _admits(project.torch)
        fits = python_test(project.requires_python)
        tags = {tag for build in self.table.of(HOME) for tag in build.pythons if tag.startswith("cp") and fits(tag)}
        # The Pythons that the project is for, as far as any wheel is for them, oldest first.
        self.tags = tuple(sorted(tags, key=lambda tag: (tag.endswith("t"), python_order(tag)[1])))
        self._audiences: dict[str, BuildAudience] = {}

    def builds(self) -> list[Build]:
        """Within the project's range, newest first."""
        builds = [build for build in self.table.of(HOME) if self.admits(build.torch)]
        return sorted(builds, key=lambda build: release_key(build.torch), reverse=True)

    def audience(self, build: Build) -> BuildAudience:
        if build.torch not in self._audiences:
            self._audiences[build.torch] = served(build, self.table)
        return self._audiences[build.torch]

    def range(self, cap: str) -> VersionRange:
        """What `torch<cap` gets on each Python: the newest release below the cap that has a wheel for it."""
        below = [build for build in self.builds() if not cap or release_key(build.torch) < release_key(cap)]
        newest = {tag: next((build for build in below if tag in build.pythons), None) for tag in self.tags}
        by_build = [(build, tuple(tag for tag in self.tags if newest[tag] == build)) for build in below]
        gets = tuple((self.audience(build), tags) for build, tags in by_build if tags)
        bounds = [bound.replace(" ", "") for bound in self.project.torch.split(",") if bound.strip()]
        if cap:  # which lies below a release within them
            bounds = [*(bound for bound in bounds if not bound.startswith("<")), f"<{cap}"]
        return VersionRange(f"torch{','.join(bounds)}", gets, tuple(tag for tag in self.tags if newest[tag] is None))

    def cap_after(self, build: Build) -> str:
        """The lowest cap that still admits the build: the next minor release where there is one, else the next."""
        releases = sorted({build.torch for build in self.table.of(HOME)}, key=release_key)
        newer = [release for release in releases if release_key(release) > release_key(build.torch)]
        if not any(map(self.admits, newer)):
            return ""
        minor = major_minor(newer[0])
        return minor if release_key(minor) > release_key(build.torch) else newer[0]

    def newest_for(self, kinds: Iterable[Kind]) -> Build | None:
        """The newest build of the range that supports all of these and has a wheel for a Python of the project."""
        wanted, tags = set(kinds), set(self.tags)
        builds = (build for build in self.builds() if wanted <= set(self.audience(build).kinds))
        return next((build for build in builds if tags & set(build.pythons)), None)


def _admits(specifier: str) -> Admits:
    try:
        return admits(specifier)
    except ValueError as error:
        raise UsageError(f"`{specifier}` is not a valid version specifier", hint='such as "torch>=2.5"') from error


def python_test(requires_python: str) -> Admits:
    """A test for Python tags: whether a release of that Python is within `requires-python`.

    A bound such as `>=3.10.4` lets Python 3.10 in, for its later releases.
    """
    wanted = _admits(requires_python)

    def asks(tag: str) -> bool:
        version = f"{tag[2]}.{tag[3:].rstrip('t')}"
        return wanted(version) or wanted(f"{version}.99")

    return asks


def extras(shop: Shop) -> tuple[Extra, ...]:
    """Extras for those whom the newest release leaves behind."""
    if not shop.builds():
        range_ = shop.project.torch or "any version"
        raise UsageError(
            f"no PyTorch release of the default index is in `{range_}`",
            hint='widen the range: `torchpick extras "torch>=2.5"`',
        )
    extras_: dict[str, Extra] = {}
    for name, cap in _steps(shop):
        reached = shop.range(cap)
        extras_.setdefault(reached.requirement, Extra(name, (reached.requirement,), comment(shop, reached)))
    return tuple(extras_.values())


def _steps(shop: Shop) -> Iterator[tuple[str, str]]:
    """Names and caps: for GPUs whose drivers ended with a branch, and for drivers of an older CUDA."""
    for number, (kinds, lost) in enumerate(_left_behind(shop)):
        build = shop.newest_for(kinds) if kinds else None
        if build is not None:
            names = dict.fromkeys(kind.generation.lower().replace(" ", "-") for kind in kinds)
            is_all = number == 0 and not lost
            yield "nvidia-old" if is_all else "nvidia-" + "-".join(names), shop.cap_after(build)
    # The newest build of the CUDA major before the newest's, which older drivers carry.
    majors = [(numbers(build.cuda)[0], build) for build in shop.builds() if build.cuda]
    older = next((build for major, build in majors if major < majors[0][0]), None)
    if older is not None:
        yield f"nvidia-cuda{older.backend[2:-1]}", shop.cap_after(older)


def _left_behind(shop: Shop) -> Iterator[tuple[list[Kind], list[Kind]]]:
    """GPUs that the newest release does not support, by driver branch: those that an older one does, and the rest."""
    newest = shop.audience(shop.builds()[0])
    last = shop.table.drivers.last_branch
    for branch in sorted(set(last.values()), reverse=True):
        ended = [
            kind
            for kind in shop.table.nvidia
            if kind.found_on(HOME) and last.get(kind.arch.capability) == branch and kind not in newest.kinds
        ]
        supported = [kind for kind in ended if shop.newest_for((kind,)) is not None]
        yield supported, [kind for kind in ended if kind not in supported]


def comment(shop: Shop, reached: VersionRange) -> tuple[str, ...]:
    """Whom the range really supports through the default index, in lines."""
    lines = []
    for audience, tags in reached.gets:
        build = audience.build
        cuda = f"torch {build.torch}" + (f" for CUDA {build.cuda}" if build.cuda else "")
        driver = f", driver {audience.driver} or newer" if audience.driver else ""
        lines.append(f"{cuda} on {pythons(tags)}: {generations(audience.kinds, shop.table)}{driver}")
    if lines:
        lines[0] = f"{PLATFORMS[HOME]} gets {lines[0]}"
    if reached.without:
        lines.append(f"no wheel, and so a clear failure, on {pythons(reached.without)}")
    return tuple(lines)
