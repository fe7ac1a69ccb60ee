"""Exact extras or groups for a checkout: one for each backend, with its index, for all that the project needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.decide import matrix, resolve
from torchpick.environment.projectfile import NeededPackage, OwnExtra, PackageVersion, Project
from torchpick.errors import UsageError
from torchpick.model.build import COMPANIONS, Build, toolkit_order
from torchpick.model.generations import NVIDIA
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.package import Package, PackageFacts
from torchpick.model.pick import Pick
from torchpick.model.pythons import python_order
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.versions import admits, major_minor, named, parsed, release_key
from torchpick.projects.declared import Extra, Index, Plan
from torchpick.projects.published import HOME, python_test
from torchpick.projects.served import PLATFORMS, generations, python_of, pythons, served

# How many minor releases the extras may lie apart; what a package pins for each CUDA lies further (vllm: 2.10, 2.14).
_APART, _APART_BY_PACKAGES = 2, 6
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
    return Plan(
        found,
        tool,
        groups,
        tuple(indexes.values()),
        {name: each for name, each in sources.items() if each},
        apart=tuple((own, names) for own in project.own if (names := _against(own, found))),
        builds_with_torch=project.builds_with_torch,
    )


def _against(own: OwnExtra, extras: tuple[Extra, ...]) -> tuple[str, ...]:
    """The extras whose pins this one of the author's does not admit."""
    return tuple(extra.name for extra in extras if extra.name != own.name and _contradicts(own, extra))


def _contradicts(own: OwnExtra, extra: Extra) -> bool:
    pins = dict(requirement.split(" ;")[0].split("==", 1) for requirement in reversed(extra.requirements))
    wanted = {package: range_ for package, range_ in own.ranges.items() if package in pins}
    return any(range_ is None or not admits(range_)(pins[package]) for package, range_ in wanted.items())


def _names(extra: Extra, package: str) -> bool:
    return any(requirement.startswith(f"{package}==") for requirement in extra.requirements)


def _index_url(backend: str, wish: Wish) -> str:
    if wish.index_base.startswith("flat+"):
        hint = "name a mirror with a folder for each backend"
        raise UsageError("a flat mirror is one page, and a project needs an index for each backend", hint=hint)
    return f"{wish.index_base.rstrip('/')}/{backend}"


def backends(table: Table, project: Project, wish: Wish) -> dict[str, str]:
    """cpu, and what the kinds of GPU would be given: with their newest driver, and with the oldest of each CUDA major.

    What only an old release has is left out: an app has one torch, and its extras should not be years apart.
    """
    found = _given(table, project, wish)
    kept = [build for build in found if _is_there(table, project, build.backend, wish)]
    needed = [build.backend for build in kept if not any(_replaces(other, build, table) for other in kept)]
    return {backend: backend for backend in ("cpu", *sorted(needed, key=toolkit_order))}


def _is_there(table: Table, project: Project, backend: str, wish: Wish) -> bool:
    """Whether a build of this backend goes with the packages that the project needs."""
    try:
        return not project.packages or _pick(table, project, backend, wish).ok
    except UsageError:
        return False


def _given(table: Table, project: Project, wish: Wish) -> list[Build]:
    """The newest build of each backend that a kind of GPU would be given, for the oldest Python of the project."""
    kinds = [kind for kind in NVIDIA if kind.found_on(HOME)]
    machine = Machine(Platform.parse(HOME), python(project, table), None, matrix.gpus_of(kinds))
    floors = [Driver(each["linux"]) for each in table.drivers.majors.values()]
    asked = _asked(project, wish)
    found: dict[str, Build] = {}
    for one in (None, *floors):
        for row in matrix.rows(machine._replace(driver=one), table, asked):
            build = _newest(row, project)
            if build is not None:
                found[build.backend] = max(
                    build, found.get(build.backend, build), key=lambda one: release_key(one.torch)
                )
    if not found:
        return []
    # Counted from the newest that the project can have: its Python or a companion may end below the newest of all.
    newest = max(release_key(build.torch) for build in found.values())
    releases = [torch for torch in _releases(table, project) if release_key(torch) <= newest]
    recent = matrix.newest_patches(sorted(releases, key=release_key, reverse=True))
    recent = recent[: _APART_BY_PACKAGES if project.packages else _APART]
    return [build for build in found.values() if release_key(build.torch) >= release_key(major_minor(recent[-1]))]


def _newest(row: matrix.Row, project: Project) -> Build | None:
    """The newest build for this kind of GPU that goes with what the project needs."""
    running = (verdict.build for cell in row.cells for verdict in cell.verdicts if verdict.ok)
    return next((build for build in running if _fits(project, build.torch, build.backend)), None)


def _asked(project: Project, wish: Wish) -> Wish:
    return wish._replace(torch=project.torch, companions=dict.fromkeys(project.companions, ""))


def _replaces(newer: Build, build: Build, table: Table) -> bool:
    """Whether this is a newer toolkit that supports every GPU which the other one does, and from the same driver on."""
    if toolkit_order(newer.backend) <= toolkit_order(build.backend):
        return False
    theirs, mine = served(newer, table), served(build, table)
    return theirs.driver == mine.driver and set(theirs.kinds) >= set(mine.kinds)


def _releases(table: Table, project: Project) -> set[str]:
    admitted = admits(project.torch)
    return {build.torch for build in table.of(HOME) if build.published and admitted(build.torch)}


def exact(table: Table, project: Project, name: str, backend: str, wish: Wish) -> Extra:
    """The newest build of this backend within the project's range, by its local version: without its index it fails."""
    build = _pick(table, project, backend, wish).build
    return Extra(name, tuple(_requirements(table, build, project)), tuple(_comment(table, build)), backend)


def _pick(table: Table, project: Project, backend: str, wish: Wish) -> Pick:
    machine = Machine(Platform.parse(HOME), python(project, table))
    for torch in _ranges(table, project, backend):
        asked = _asked(project, wish)._replace(backends=(backend,), torch=torch)
        pick = resolve.pick(machine, table, asked, resolve.judge(machine, table, asked))
        if pick.ok:
            return pick
    names = " with ".join([f"torch{project.torch}", *project.companions, *(each.name for each in project.packages)])
    hint = "`torchpick list --all` shows every build"
    raise UsageError(f"no build of `{names}` for {backend} is known", hint=hint)


def _ranges(table: Table, project: Project, backend: str) -> list[str]:
    """The project's range, or the releases in it that go with a version of each package it needs, newest first."""
    if not project.packages:
        return [project.torch]
    releases = sorted(_releases(table, project), key=release_key, reverse=True)
    return [f"=={torch}" for torch in releases if _fits(project, torch, backend)]


def _fits(project: Project, torch: str, backend: str) -> bool:
    """Whether a known version of each package that the project needs goes with this torch and its CUDA major."""
    major = backend[2:-1] if backend.startswith("cu") else None
    return all(
        any(admits(one.torch)(torch) and (major is None or one.cuda in (None, major)) for one in package.versions)
        for package in project.packages
    )


def _requirements(table: Table, build: Build, project: Project) -> list[str]:
    mac = next((each for each in table.of(_MAC) if (each.torch, each.backend) == (build.torch, build.backend)), None)
    lines = []
    for package in ("torch", *project.companions):
        here = build.pins[package]
        there = None if mac is None else mac.pins.get(package)
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
    return [f"torch {build.torch}{gpus}", f"{pythons(build.pythons)} on {', '.join(where)}"]


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


def completed(project: Project, known: Mapping[str, PackageFacts]) -> Project:
    """The project with the companions that its packages need (what no extra pins comes from the default index)."""
    below = {name for need in project.needs for name in _below(need, known)}
    names = {*project.companions, *below}
    return project._replace(
        companions=tuple(name for name in COMPANIONS if name in names),
        builds_with_torch=tuple(name for name in project.needs if name in known and _builds_with_torch(known[name])),
        packages=_pinning(below - {"torch", *COMPANIONS}, known),
    )


def _below(name: str, known: Mapping[str, PackageFacts]) -> set[str]:
    """A package and all that it needs, as far as the table knows; its newest version stands for all."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        package = waiting.pop()
        if package in seen or package not in known or not known[package].versions:
            seen.add(package)
            continue
        seen.add(package)
        waiting += [named(text) for text in known[package].versions[0].requires]
    return seen


def _pinning(names: Iterable[str], known: Mapping[str, PackageFacts]) -> tuple[NeededPackage, ...]:
    """The packages that do not go with every torch or every CUDA, as vllm, whose versions pin one torch each."""
    found = []
    for name in sorted(names):
        versions = known[name].versions if name in known and known[name].source_only is None else ()
        asked = [_facts_of(package) for package in versions if not package.yanked]
        # An old version that says nothing of torch goes with every torch by its metadata alone.
        if asked and _narrows(asked[0]):
            found.append(NeededPackage(name, tuple(filter(_narrows, asked))))
    return tuple(found)


def _narrows(version: PackageVersion) -> bool:
    return version.cuda is not None or any(operator in version.torch for operator in ("==", "<", "~="))


def _facts_of(package: Package) -> PackageVersion:
    torch = [parsed(text).specifier for text in package.requires if named(text) == "torch"]
    major = package.cuda.split(".")[0] if package.cuda and package.links_torch else None
    return PackageVersion(",".join(str(one) for one in torch if str(one)), major)


def _builds_with_torch(facts: PackageFacts) -> bool:
    return facts.source_only is not None and any(package.links_torch for package in facts.versions[:1])
