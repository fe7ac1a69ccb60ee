"""Exact extras or groups for a checkout: one for each backend, with its index, for all that the project needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchpick.decide import answer as answers
from torchpick.decide import demands, matrix
from torchpick.environment.projectfile import Project
from torchpick.errors import UsageError
from torchpick.model.build import COMPANIONS, Build, toolkit_order
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.package import Catalog, PackageFacts
from torchpick.model.pick import Wish
from torchpick.model.pythons import python_order
from torchpick.model.table import BuildsByRelease, Table
from torchpick.model.versions import admits, release_key
from torchpick.projects.extras import PLATFORMS, Extra, Index, Plan, generations, python_of, pythons, served
from torchpick.projects.published import HOME, python_test

# How many minor releases the extras may lie apart; what a package pins for each CUDA lies further (vllm: 2.10, 2.14).
_APART, _APART_BY_PACKAGES = 2, 6
# The Arm Mac has plain wheels, which an exact local version would shut out.
_MAC = "macos-arm64"


class App:
    """What a project that can name its indexes gets from each backend: the answer to what it needs, as for a machine.

    Its packages are asked for by their names alone, those that are built from source against torch left out.
    """

    def __init__(self, project: Project, table: Table, packages: Mapping[str, PackageFacts], wish: Wish) -> None:
        self.project, self.table, self.packages, self.wish = project, table, packages, wish
        needs = project.needs
        self.builds_with_torch = tuple(n for n in needs if n in packages and packages[n].built_with_torch)
        others = (name for name in needs if name not in self.builds_with_torch)
        self.requirements = (f"torch{project.torch}", *project.companions, *others)

    @property
    def machine(self) -> Machine:
        """One without a GPU, and with the oldest Python of the project."""
        return Machine(Platform.parse(HOME), python(self.project, self.table), None, ())

    def answer(self, backend: str) -> answers.Answer:
        """What it gets from this backend."""
        machine = self.machine
        wish = demands.narrowed(self.wish, self.requirements)._replace(backends=(backend,))
        question = answers.Question(wish, demands.package_demands(self.requirements, lambda: machine))
        answer = answers.answer(question, (machine,), lambda _: self.table, lambda: Catalog(self.packages))
        if not isinstance(answer, answers.Answer):
            raise TypeError("the table's catalog asks for nothing")
        return answer

    def exact(self, backend: str) -> Extra:
        """The newest build of this backend, by its local version: without its index it fails."""
        answer = self.answer(backend)
        if not answer.ok:
            hint = "`torchpick list --all` shows every build"
            raise UsageError(f"no build of `{' '.join(self.requirements)}` for {backend} is known", hint=hint)
        build, stack = answer.pick.build, answer.stack
        companions = [name for name in COMPANIONS if name in self.project.companions or (stack and stack.version(name))]
        requirements = _requirements(self.table, build, ("torch", *companions))
        return Extra(backend, tuple(requirements), tuple(_comment(self.table, build)), backend)

    def backends(self) -> tuple[str, ...]:
        """cpu, and what the kinds of GPU would be given, by their newest driver and by the oldest of each CUDA major.

        What only an old release has is left out: an app has one torch, and its extras should not be years apart.
        """
        names = {build.backend for build in self.table.of(HOME) if build.family in ("cpu", "cuda")}
        answers_ = [answer for answer in map(self.answer, sorted(names, key=toolkit_order)) if answer.ok]
        builds = [answer.pick.build for answer in answers_]
        newest = max(map(_minor, builds), default=0)
        apart = _APART_BY_PACKAGES if any(answer.judged for answer in answers_) else _APART
        picked = self._picked(build for build in builds if _minor(build) > newest - apart)
        # Where nothing fits, cpu's refusal says what was asked for.
        return tuple(build.backend for build in builds if build.backend in picked) or ("cpu",)

    def _picked(self, builds: Iterable[Build]) -> set[str]:
        few = self.table._replace(builds={HOME: BuildsByRelease.of(builds)})
        kinds = [kind for kind in self.table.nvidia if kind.found_on(HOME)]
        machine = self.machine._replace(gpus=matrix.gpus_of(kinds))
        drivers = (None, *(Driver(major["linux"]) for major in self.table.drivers.majors.values()))
        rows = (row for driver in drivers for row in matrix.rows(machine._replace(driver=driver), few, Wish()))
        return {"cpu", *(row.newest.build.backend for row in rows if row.newest is not None)}


def plan(app: App, backends: Sequence[str], *, groups: bool) -> Plan:
    """An extra for each of these backends, by its name."""
    extras = tuple(map(app.exact, backends))
    indexes = {backend: Index(f"pytorch-{backend}", _index_url(backend, app.wish)) for backend in backends}
    sources = {
        package: tuple(
            (indexes[extra.backend].name, extra.name)
            for extra in extras
            if any(requirement.startswith(f"{package}==") for requirement in extra.requirements)
        )
        for package in ("torch", *COMPANIONS)
    }
    pairs = {package: source for package, source in sources.items() if source}
    return Plan(extras, groups, tuple(indexes.values()), pairs, app.builds_with_torch)


def _index_url(backend: str, wish: Wish) -> str:
    if wish.index_base.startswith("flat+"):
        hint = "name a mirror with a folder for each backend"
        raise UsageError("a flat mirror is one page, and a project needs an index for each backend", hint=hint)
    return f"{wish.index_base.rstrip('/')}/{backend}"


def _minor(build: Build) -> int:
    major, minor = release_key(build.torch)[0][:2]
    return 100 * major + minor


def _requirements(table: Table, build: Build, packages: Iterable[str]) -> list[str]:
    mac = _build_on(_MAC, table, build)
    lines = []
    for package in packages:
        version = build.pins[package]
        on_mac = mac and mac.pins.get(package)
        if on_mac is None or on_mac == version:
            lines.append(f"{package}=={version}")
        else:
            lines.append(f"{package}=={version} ; sys_platform != 'darwin'")
            lines.append(f"{package}=={on_mac} ; sys_platform == 'darwin'")
    return lines


def _build_on(platform: str, table: Table, build: Build) -> Build | None:
    key = build.torch, build.backend
    return next((row for row in table.of(platform) if (row.torch, row.backend) == key and row.published), None)


def _comment(table: Table, build: Build) -> list[str]:
    audience = served(build, table)
    labels = [label for platform, label in PLATFORMS.items() if _build_on(platform, table, build) is not None]
    driver = f", driver {audience.driver} or newer" if audience.driver else ""
    gpus = f": {generations(audience.kinds, table)}{driver}" if build.family == "cuda" else ""
    return [f"torch {build.torch}{gpus}", f"{pythons(build.pythons)} on {', '.join(labels)}"]


def python(project: Project, table: Table) -> Python:
    """The oldest Python that the project is for: what that one can have, every newer one can.

    Where the project does not say, the oldest that the newest release has a wheel for.
    """
    builds = [*table.of(HOME)]
    if not project.requires_python:
        admitted = admits(project.torch)
        builds = [build for build in builds if build.published and admitted(build.torch)]
        newest = max((release_key(build.torch) for build in builds), default=None)
        builds = [build for build in builds if release_key(build.torch) == newest]
    fits = python_test(project.requires_python)
    tags = {tag for build in builds for tag in build.pythons if tag[:2] == "cp" and tag[-1] != "t" and fits(tag)}
    if not tags:
        range_ = f"Python {project.requires_python}" if project.requires_python else f"torch{project.torch}"
        raise UsageError(f"no PyTorch wheel is for {range_}", hint="widen `requires-python`, or the range of torch")
    return python_of(min(tags, key=python_order))
