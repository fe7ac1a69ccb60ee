"""An extra or group of a project: its requirements, whom it supports whatever the machine, and which keys hold it.

And a published library's own, which cannot name an index: such an extra can only be a range, and what a range gets is
the newest release in it that the default index has a wheel of for the Python. The judgement is decide.buildfit's. Pure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torchpick.decide import matrix
from torchpick.environment.projectfile import Project, ProjectSetting, ProjectSettings
from torchpick.errors import UsageError
from torchpick.model.arch import Fit
from torchpick.model.build import Build, python_name, python_number, python_span
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, Kind, Table
from torchpick.model.versions import admits, grouped, major_minor, numbers, release_key


class Extra(NamedTuple):
    """An extra or a dependency group: its requirements, and whom it supports in lines of a comment.

    `backend` is empty where the extra is a range that the default index satisfies.
    """

    name: str
    requirements: tuple[str, ...]
    comment: tuple[str, ...]
    backend: str = ""


class Plan(NamedTuple):
    """`sources`, which a library has none of, are uv's, by package; `indexes` the addresses, by the name in these.

    `builds_with_torch` are packages that are built from source against the torch of the environment; `conflicts` the
    names that exclude each other, the author's own among them.
    """

    extras: tuple[Extra, ...]
    groups: bool = False
    indexes: Mapping[str, str] = {}
    sources: Mapping[str, Sequence[Mapping[str, str]]] = {}
    builds_with_torch: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def settings_of(plan: Plan) -> ProjectSettings:
    """The extras, and for an app what uv needs beside them."""
    table = ("dependency-groups",) if plan.groups else ("project", "optional-dependencies")
    settings = []
    for extra in plan.extras:
        wrapped = (part for line in extra.comment for part in textwrap.wrap(line, 100, subsequent_indent="  "))
        settings.append(ProjectSetting((*table, extra.name), list(extra.requirements), tuple(wrapped)))
    if not plan.sources:
        return ProjectSettings(tuple(settings))
    uv, kind = ("tool", "uv"), "group" if plan.groups else "extra"
    settings += [ProjectSetting((*uv, "sources", package), list(entries)) for package, entries in plan.sources.items()]
    # So that such a package is built against the torch that is installed, and not against the newest.
    torch = [{"requirement": "torch", "match-runtime": True}]
    settings += [ProjectSetting((*uv, "extra-build-dependencies", name), torch) for name in plan.builds_with_torch]
    if len(plan.conflicts) > 1:
        settings.append(ProjectSetting((*uv, "conflicts"), [[{kind: name} for name in plan.conflicts]]))
    tables = ({"name": name, "url": url, "explicit": True} for name, url in plan.indexes.items())
    indexes = tuple(ProjectSetting((*uv, "index"), table) for table in tables)
    return ProjectSettings(tuple(settings), indexes, binding=frozenset(plan.sources))


# What people call the platforms that a library's users have.
PLATFORMS = {
    "linux-x86_64": "Linux x86-64",
    "linux-aarch64": "Linux aarch64",
    "windows-x86_64": "Windows x86-64",
    "macos-arm64": "macOS",
}


# The kinds of GPU that a build has machine code for, and the oldest driver that carries it.
Audience = tuple[Sequence[Kind], str | None]


def default_table(builds: Iterable[Build], table: Table) -> Table:
    """The default index as a table: each of its builds under the backend that it was built for."""
    by_platform = grouped(
        (build.platform, build._replace(backend=f"cu{build.cuda.replace('.', '')}" if build.cuda else "cpu"))
        for build in builds
        if build.backend == "default"
    )
    return table._replace(builds={platform: BuildsByRelease.of(group) for platform, group in by_platform.items()})


def served(build: Build, table: Table) -> Audience:
    """Whom this build supports; each kind of GPU with the newest driver that supports it.

    PTX alone does not count: it needs a newer driver than the one that is named.
    """
    if build.family != "cuda" or not build.pythons:
        return (), None
    platform = Platform.parse(build.platform)
    kinds = tuple(kind for kind in table.nvidia if kind.found_on(build.platform))
    machine = Machine(platform, python_of(build.pythons[-1]), None, matrix.gpus_of(kinds))
    rows = matrix.rows(machine, table._replace(builds={build.platform: BuildsByRelease.of([build])}), Wish())
    newest = ((kind, row.best()) for kind, row in zip(kinds, rows, strict=True))
    supported = [kind for kind, best in newest if best and all(gpu.fit is not Fit.JIT for gpu in best.fits)]
    floor = table.drivers.floor(build.cuda, platform.os) if build.cuda is not None else None
    return supported, floor


def python_of(tag: str) -> Python:
    """`cp314t` → that Python, as a given one."""
    name = python_name(tag).split()[-1]
    return Python(name.removesuffix("t"), tag[:2], name.endswith("t"))


def in_words(audience: Audience) -> str:
    """`Maxwell, Pascal, Volta, driver 525.60.13 or newer`."""
    kinds, floor = audience
    generations = dict.fromkeys(kind.generation for kind in sorted(kinds, key=lambda kind: kind.arch))
    return (", ".join(generations) or "no GPU") + (f", driver {floor} or newer" if floor else "")


def pythons(tags: Iterable[str]) -> str:
    """`Python 3.9 to 3.13, 3.13t`."""
    tags = tuple(tags)
    return f"Python {python_span(tags)}" if tags else "no Python"


# Where the default index has wheels for GPUs, so what an extra of a library is made for.
HOME = "linux-x86_64"


class Shop:
    """The default index within a library's range, newest build first, and the Pythons that it is for, oldest first."""

    def __init__(self, builds: Iterable[Build], table: Table, project: Project) -> None:
        self.table, self.torch = default_table(builds, table), project.torch
        self._all = sorted(self.table.of(HOME), key=lambda build: release_key(build.torch), reverse=True)
        is_within, fits = _admits(project.torch), python_test(project.requires_python)
        self.builds = [build for build in self._all if is_within(build.torch)]
        tags = {tag for build in self._all for tag in build.pythons if tag.startswith("cp") and fits(tag)}
        self.tags = sorted(tags, key=lambda tag: (tag.endswith("t"), python_number(tag)))
        self._audiences: dict[str, Audience] = {}

    def audience(self, build: Build) -> Audience:
        if build.torch not in self._audiences:
            self._audiences[build.torch] = served(build, self.table)
        return self._audiences[build.torch]

    def requirement(self, cap: str) -> str:
        """`torch>=2.5,<2.8`: the library's own specifier and a cap, which lies below a release within it."""
        bounds = (bound.replace(" ", "") for bound in self.torch.split(",") if bound.strip())
        return f"torch{','.join((*(bound for bound in bounds if not bound.startswith('<')), f'<{cap}'))}"

    def newest(self, cap: str) -> dict[str, Build | None]:
        """What `torch<cap` gets on each Python: the newest release below the cap that has a wheel for it."""
        below = [build for build in self.builds if release_key(build.torch) < release_key(cap)]
        return {tag: next((build for build in below if tag in build.pythons), None) for tag in self.tags}

    def comment(self, cap: str) -> tuple[str, ...]:
        """Whom the range really supports through the default index, in lines, the newest release first."""
        newest = self.newest(cap)
        lines: list[str] = []
        for build in self.builds:
            if not (tags := [tag for tag in self.tags if newest[tag] is build]):
                continue
            cuda = f" for CUDA {build.cuda}" if build.cuda else ""
            text = f"torch {build.torch}{cuda} on {pythons(tags)}: {in_words(self.audience(build))}"
            lines.append(text if lines else f"{PLATFORMS[HOME]} gets {text}")
        if without := [tag for tag, build in newest.items() if build is None]:
            lines.append(f"no wheel, and so a clear failure, on {pythons(without)}")
        return tuple(lines)

    def cap_after(self, build: Build) -> str:
        """The lowest cap that still admits the build: the next minor release where there is one, else the next."""
        newer = [other.torch for other in self._all if release_key(other.torch) > release_key(build.torch)]
        minor = major_minor(newer[-1])
        return minor if release_key(minor) > release_key(build.torch) else newer[-1]

    def newest_for(self, kinds: Iterable[Kind]) -> Build | None:
        """The newest build of the range that supports all of these and has a wheel for a Python of the library."""
        wanted = {*kinds}
        audiences = ((build, *self.audience(build)) for build in self.builds)
        builds = (build for build, kinds_of, _ in audiences if wanted <= {*kinds_of})
        return next((build for build in builds if {*self.tags} & {*build.pythons}), None)


def _admits(specifier: str) -> Callable[[str], bool]:
    try:
        return admits(specifier)
    except ValueError as error:
        raise UsageError(f"`{specifier}` is not a valid version specifier", hint='such as "torch>=2.5"') from error


def python_test(requires_python: str) -> Callable[[str], bool]:
    """A test for Python tags: whether a release of that Python is within `requires-python`.

    A bound such as `>=3.10.4` lets Python 3.10 in, for its later releases.
    """
    wanted = _admits(requires_python)

    def asks(tag: str) -> bool:
        version = f"{tag[2]}.{tag[3:].rstrip('t')}"
        return wanted(version) or wanted(f"{version}.99")

    return asks


def ranges(shop: Shop) -> tuple[Extra, ...]:
    """Extras for those whom the newest release leaves behind."""
    if not shop.builds:
        message = f"no PyTorch release of the default index is in `{shop.torch or 'any version'}`"
        raise UsageError(message, hint='widen the range: `torchpick extras "torch>=2.5"`')
    extras: dict[str, Extra] = {}
    for name, build in _steps(shop):
        cap = shop.cap_after(build)
        requirement = shop.requirement(cap)
        extras.setdefault(requirement, Extra(name, (requirement,), shop.comment(cap)))
    return tuple(extras.values())


def _steps(shop: Shop) -> Iterator[tuple[str, Build]]:
    """For GPUs whose drivers ended with a branch, and for drivers of an older CUDA: a name, and the newest for these.

    Of GPUs that the newest release does not support, those that an older one does; by driver branch.
    """
    (newest, _), last = shop.audience(shop.builds[0]), shop.table.drivers.last_branch
    for number, branch in enumerate(sorted(set(last.values()), reverse=True)):
        here = (kind for kind in shop.table.nvidia if kind.found_on(HOME) and kind not in newest)
        ended = [kind for kind in here if last.get(kind.arch.capability) == branch]
        kinds = [kind for kind in ended if shop.newest_for((kind,)) is not None]
        if kinds and (build := shop.newest_for(kinds)) is not None:
            names = dict.fromkeys(kind.generation.lower().replace(" ", "-") for kind in kinds)
            yield "nvidia-old" if number == 0 and kinds == ended else "nvidia-" + "-".join(names), build
    # The newest build of the CUDA major before the newest's, which older drivers carry.
    majors = [(numbers(build.cuda)[0], build) for build in shop.builds if build.cuda]
    older = next((build for major, build in majors if major < majors[0][0]), None)
    if older is not None:
        yield f"nvidia-cuda{older.backend[2:-1]}", older
