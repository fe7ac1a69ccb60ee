"""Extras for a library that is published to an index: public ranges only, for what the default index has. Pure.

A published library cannot name an index, so an extra can only be a range, and what a range gets is the newest release
in it that has a wheel for the Python. Below, that is what is asked of the table, Python by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchpick.environment.projectfile import Project
from torchpick.errors import UsageError
from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_order
from torchpick.model.table import Kind, Table
from torchpick.model.versions import admits, major_minor, numbers, release_key
from torchpick.projects.declared import Extra
from torchpick.projects.served import PLATFORMS, BuildAudience, default_table, generations, pythons, served

# Where the default index has wheels for GPUs, so what an extra is made for.
HOME = "linux-x86_64"

Admits = Callable[[str], bool]


class VersionRange(Noun):
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
        self.tags = self._supported()
        self._served: dict[str, BuildAudience] = {}

    def _supported(self) -> tuple[str, ...]:
        """The Pythons that the project is for, as far as any wheel is for them, oldest first."""
        wanted = python_test(self.project.requires_python)
        tags = {tag for build in self.table.of(HOME) for tag in build.pythons if tag.startswith("cp")}
        found = [tag for tag in tags if wanted(tag)]
        return tuple(sorted(found, key=lambda tag: (tag.endswith("t"), python_order(tag)[1])))

    def builds(self) -> list[Build]:
        """Within the project's range, newest first."""
        mine = [build for build in self.table.of(HOME) if self.admits(build.torch)]
        return sorted(mine, key=lambda build: release_key(build.torch), reverse=True)

    def audience(self, build: Build) -> BuildAudience:
        if build.torch not in self._served:
            self._served[build.torch] = served(build, self.table)
        return self._served[build.torch]

    def got(self, cap: str, tag: str) -> Build | None:
        """What `torch<cap` gets on this Python: the newest release below the cap that has a wheel for it."""
        below = [build for build in self.builds() if not cap or release_key(build.torch) < release_key(cap)]
        return next((build for build in below if tag in build.pythons), None)

    def range(self, cap: str) -> VersionRange:
        """The range below this cap, and what it gets for every Python of the project."""
        found: dict[str, tuple[BuildAudience, list[str]]] = {}
        without = []
        for tag in self.tags:
            build = self.got(cap, tag)
            if build is None:
                without.append(tag)
            else:
                found.setdefault(build.torch, (self.audience(build), []))[1].append(tag)
        newest_first = sorted(found, key=release_key, reverse=True)
        gets = tuple((found[torch][0], tuple(found[torch][1])) for torch in newest_first)
        return VersionRange(self._requirement(cap), gets, tuple(without))

    def _requirement(self, cap: str) -> str:
        bounds = [each.replace(" ", "") for each in self.project.torch.split(",") if each.strip()]
        kept = [each for each in bounds if not (cap and each.startswith("<"))]  # a cap lies below a release within them
        return "torch" + ",".join([*kept, *([f"<{cap}"] if cap else [])])

    def cap_after(self, build: Build) -> str:
        """The lowest cap that still admits the build: the next minor release where there is one, else the next."""
        releases = sorted({each.torch for each in self.table.of(HOME)}, key=release_key)
        newer = [each for each in releases if release_key(each) > release_key(build.torch)]
        inside = [each for each in newer if self.admits(each)]
        if not inside:
            return ""
        first = newer[0]
        minor = major_minor(first)
        return minor if release_key(minor) > release_key(build.torch) else first


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
        said = shop.project.torch or "any version"
        raise UsageError(
            f"no PyTorch release of the default index is in `{said}`",
            hint='widen the range: `torchpick extras "torch>=2.5"`',
        )
    found: list[Extra] = []
    for name, cap in _steps(shop):
        reached = shop.range(cap)
        if all(each.requirements[0] != reached.requirement for each in found):
            found.append(Extra(name, (reached.requirement,), comment(shop, reached)))
    return tuple(found)


def _steps(shop: Shop) -> list[tuple[str, str]]:
    """Names and caps: for GPUs whose drivers ended with a branch, and for drivers of an older CUDA."""
    found: list[tuple[str, str]] = []
    for first, (kinds, lost) in enumerate(_left_behind(shop)):
        build = _newest_for(shop, kinds) if kinds else None
        if build is not None:
            generations_ = dict.fromkeys(kind.generation.lower().replace(" ", "-") for kind in kinds)
            whole = first == 0 and not lost
            found.append(("nvidia-old" if whole else "nvidia-" + "-".join(generations_), shop.cap_after(build)))
    if (older := _older_cuda(shop)) is not None:
        found.append((f"nvidia-cuda{older.backend[2:-1]}", shop.cap_after(older)))
    return found


def _left_behind(shop: Shop) -> list[tuple[list[Kind], list[Kind]]]:
    """GPUs that the newest release does not support, by driver branch: those that an older one does, and the rest."""
    newest = shop.audience(shop.builds()[0])
    last = shop.table.drivers.last_branch
    found = []
    for branch in sorted(set(last.values()), reverse=True):
        ended = [
            kind
            for kind in shop.table.nvidia
            if kind.found_on(HOME) and last.get(kind.arch.capability) == branch and kind not in newest.kinds
        ]
        served_ = [kind for kind in ended if _newest_for(shop, (kind,)) is not None]
        found.append((served_, [kind for kind in ended if kind not in served_]))
    return found


def _newest_for(shop: Shop, kinds: Sequence[Kind]) -> Build | None:
    """The newest build of the range that supports all of these and has a wheel for a Python of the project."""
    for build in shop.builds():
        if set(kinds) <= set(shop.audience(build).kinds) and set(build.pythons) & set(shop.tags):
            return build
    return None


def _older_cuda(shop: Shop) -> Build | None:
    """The newest build of the CUDA major before the newest's, which older drivers carry."""
    majors = [(numbers(build.cuda)[0], build) for build in shop.builds() if build.cuda]
    return next((build for major, build in majors if major < majors[0][0]), None)


def comment(shop: Shop, reached: VersionRange) -> tuple[str, ...]:
    """Whom the range really supports through the default index, in lines."""
    lines = []
    for each, tags in reached.gets:
        cuda = f"torch {each.build.torch}" + (f" for CUDA {each.build.cuda}" if each.build.cuda else "")
        driver = f", driver {each.driver} or newer" if each.driver else ""
        lines.append(f"{cuda} on {pythons(tags)}: {generations(each.kinds, shop.table)}{driver}")
    if lines:
        lines[0] = f"{PLATFORMS[HOME]} gets {lines[0]}"
    if reached.without:
        lines.append(f"no wheel, and so a clear failure, on {pythons(reached.without)}")
    return tuple(lines)
