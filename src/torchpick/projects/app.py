"""Exact extras or groups for a checkout: one for each backend, with the index it comes from. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick import matrix, resolve
from torchpick.errors import UsageError
from torchpick.model.build import Build, toolkit_order
from torchpick.model.generations import NVIDIA
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.pythons import python_order
from torchpick.model.specifiers import admits
from torchpick.model.table import Table
from torchpick.model.verdict import companions
from torchpick.model.versions import release_key
from torchpick.model.wish import Wish
from torchpick.projects.library import MARK, python_test
from torchpick.projects.plan import Extra, Index, Plan, Project
from torchpick.projects.served import PLATFORMS, generations, python_of, pythons, served

HOME = "linux-x86_64"
# The Arm Mac has plain wheels, which an exact local version would shut out.
_MAC = "macos-arm64"


def plan(  # noqa: PLR0913 # the flags of `extras`
    table: Table, project: Project, backends: Mapping[str, str], tool: str, wish: Wish, *, groups: bool
) -> Plan:
    """`backends` maps the name of each extra to its backend."""
    found = tuple(exact(table, project, name, backend, wish) for name, backend in backends.items())
    indexes = {backend: Index(f"pytorch-{backend}", _index_url(backend, wish)) for backend in backends.values()}
    packages = ("torch", *project.companions)
    sources = {
        package: tuple((indexes[each.backend].name, each.name) for each in found if _names(each, package))
        for package in packages
    }
    return Plan(found, tool, groups, tuple(indexes.values()), {name: each for name, each in sources.items() if each})


def _names(extra: Extra, package: str) -> bool:
    return any(requirement.startswith(f"{package}==") for requirement in extra.requirements)


def _index_url(backend: str, wish: Wish) -> str:
    if wish.index_base.startswith("flat+"):
        hint = "name a mirror with a folder for each backend"
        raise UsageError("a flat mirror is one page, and a project needs an index for each backend", hint=hint)
    return f"{wish.index_base.rstrip('/')}/{backend}"


def backends(table: Table, project: Project, driver: Driver | None, wish: Wish) -> dict[str, str]:
    """cpu, and what the kinds of GPU would be given: with their newest driver, and with the oldest of each CUDA major.

    What only an old release has is left out: an app has one torch, and its extras should not be years apart.
    """
    kinds = [kind for kind in NVIDIA if kind.found_on(HOME)]
    machine = Machine(Platform.parse(HOME), python(project, table), None, matrix.gpus_of(kinds))
    floors = [Driver(each["linux"]) for each in table.drivers.majors.values()] if driver is None else []
    found: dict[str, Build] = {}
    for each in (driver, *floors):
        for row in matrix.rows(machine._replace(driver=each), table, wish._replace(torch=project.torch)):
            if row.newest is not None:
                build = row.newest.build
                found[build.backend] = max(
                    build, found.get(build.backend, build), key=lambda one: release_key(one.torch)
                )
    recent = matrix.newest_patches(sorted(_releases(table, project), key=release_key, reverse=True))[:2]
    kept = [each for each in found.values() if release_key(each.torch) >= release_key(_minor(recent[-1]))]
    needed = [each.backend for each in kept if not any(_replaces(other, each, table) for other in kept)]
    return {backend: backend for backend in ("cpu", *sorted(needed, key=toolkit_order))}


def _replaces(newer: Build, build: Build, table: Table) -> bool:
    """Whether this is a newer toolkit that serves every GPU which the other one does, and from the same driver on."""
    if toolkit_order(newer.backend) <= toolkit_order(build.backend):
        return False
    theirs, mine = served(newer, table), served(build, table)
    return theirs.driver == mine.driver and set(theirs.kinds) >= set(mine.kinds)


def _releases(table: Table, project: Project) -> set[str]:
    admitted = admits(project.torch)
    return {build.torch for build in table.of(HOME) if build.published and admitted(build.torch)}


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def exact(table: Table, project: Project, name: str, backend: str, wish: Wish) -> Extra:
    """The newest build of this backend within the project's range, by its local version: without its index it fails."""
    asked = wish._replace(
        torch=project.torch,
        backends=(backend,),
        companions=dict.fromkeys(project.companions, ""),
    )
    machine = Machine(Platform.parse(HOME), python(project, table))
    pick = resolve.pick(machine, table, asked, resolve.judge(machine, table, asked))
    if not pick.ok:
        said = f"torch{project.torch}" if project.torch else "torch"
        raise UsageError(
            f"no build of `{said}` for {backend} is known", hint="`torchpick list --all` shows every build"
        )
    build = pick.build
    return Extra(name, tuple(_requirements(table, build, project)), tuple(_comment(table, build)), backend)


def _requirements(table: Table, build: Build, project: Project) -> list[str]:
    mac = next((each for each in table.of(_MAC) if (each.torch, each.backend) == (build.torch, build.backend)), None)
    lines = []
    for package in ("torch", *project.companions):
        here = build.version if package == "torch" else companions(build)[package]
        there = None if mac is None else mac.version if package == "torch" else companions(mac).get(package)
        if there is None or there == here:
            lines.append(f"{package}=={here}")
        else:
            lines.append(f"{package}=={here} ; sys_platform != 'darwin'")
            lines.append(f"{package}=={there} ; sys_platform == 'darwin'")
    return lines


def _comment(table: Table, build: Build) -> list[str]:
    whom = served(build, table)
    where = [
        label
        for platform, label in PLATFORMS.items()
        if any((each.torch, each.backend) == (build.torch, build.backend) for each in table.of(platform))
    ]
    driver = f", driver {whom.driver} or newer" if whom.driver else ""
    gpus = f": {generations(whom.kinds)}{driver}" if build.family == "cuda" else ""
    return [f"{MARK} torch {build.torch}{gpus}", f"{pythons(build.pythons)} on {', '.join(where)}"]


def python(project: Project, table: Table) -> Python:
    """The oldest Python that the project is for: what that one can have, every newer one can.

    Where the project does not say, the oldest that the newest release has a wheel for.
    """
    tags = {tag for build in table.of(HOME) for tag in build.pythons}
    if not project.requires_python:
        releases = sorted(_releases(table, project), key=release_key)
        tags = {tag for build in table.of(HOME) if build.torch in releases[-1:] for tag in build.pythons}
    wanted = python_test(project.requires_python)
    found = sorted((tag for tag in tags if tag[:2] == "cp" and tag[-1] != "t" and wanted(tag)), key=python_order)
    if not found:
        said = f"Python {project.requires_python}" if project.requires_python else f"torch{project.torch}"
        raise UsageError(f"no PyTorch wheel is for {said}", hint="widen `requires-python`, or the range with `--torch`")
    return python_of(found[0])
