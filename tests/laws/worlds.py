"""Small worlds of projects drawn by a number, and the plainest search of them: in order, one step back at a time.

It knows nothing of causes, prunes nothing ahead and reads requirements by packaging alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

from tests.laws import strategies
from torchpick.decide import demands
from torchpick.decide.demands import PackageDemand
from torchpick.decide.search import Solution, find_solution
from torchpick.decide.searchfacts import Needs, SearchFacts, find_cone
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, Verdict
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.package import Catalog, LibraryCode, Package, PackageFacts, Stage
from torchpick.model.pick import Wish
from torchpick.model.table import Table

_BACKENDS = {"2.9.0": ("12.6", "12.8"), "2.10.0": ("12.6", "13.0"), "2.11.0": ("12.6", "12.8", "13.0")}
OWN_CUDA = {"2.9.0": "12.8", "2.10.0": "12.6", "2.11.0": "13.0"}
TORCHES = ("torch", "torch<2.11", "torch==2.10.0", "torch>=2.10", "torch!=2.11.0", "torch==2.9.*", "torch<2.8")
STANDING, PLAIN, ABSENT = ("a", "b", "c", "d", "e"), ("p", "q", "r"), "nowhere"
VERSIONS = ("3.0", "2.0", "1.0")
_SPECIFIERS = ("", "", "", ">=2", "<3", "==1.0", "==2.*", "!=3.0", "<2", "~=2.0")
# At and between all numbers that a drawn specifier names: a range that admits any version admits one of these.
_POINTS = [Version(text) for number in range(6) for text in (f"{number}.0", f"{number}.5")]


def _build(torch: str, cuda: str) -> Build:
    backend = f"cu{cuda.replace('.', '')}"
    return Build(
        torch=torch, backend=backend, platform="linux-x86_64", version=f"{torch}+{backend}", cuda=cuda,
        arches=tuple(map(Arch.parse, ("sm_80", "sm_86", "sm_90"))), pythons=("cp312",),
        tags=("manylinux_2_28_x86_64",), glibc="2.28", libraries={}, lacks={}, published=True, yanked=False,
        companions={}, companion_basis={}, evidence=Evidence("declared", "drawn"),
    )  # fmt: skip


TABLE: Table = strategies.table([_build(torch, cuda) for torch, cudas in _BACKENDS.items() for cuda in cudas])


def machine(driver: str) -> Machine:
    gpu = Gpu(0, "nvidia", None, Arch.parse("sm_86"))
    return Machine(Platform("linux", "x86_64", "2.35", "glibc"), Python("3.12"), Driver(driver), (gpu,))


class World(NamedTuple):
    """What there is, and what is asked; `torch_requires` is what each release of torch asks of plain projects."""

    packages: Mapping[str, tuple[Package, ...]]
    asked: tuple[str, ...]
    limits: tuple[str, ...] = ()
    driver: str = "580.95.05"
    torch_requires: Mapping[str, tuple[str, ...]] = {}

    @property
    def machine(self) -> Machine:
        return machine(self.driver)

    @property
    def wanted(self) -> tuple[PackageDemand, ...]:
        return demands.parse_demands(self.asked)

    @property
    def bounds(self) -> tuple[PackageDemand, ...]:
        return demands.parse_demands(self.limits)

    @property
    def catalog(self) -> Catalog:
        own = tuple(Package("torch", version, cuda=cuda) for version, cuda in OWN_CUDA.items())
        facts = {name: PackageFacts(name, rows, in_table=False, listed=True) for name, rows in self.packages.items()}
        requires = self.torch_requires
        return Catalog(
            {"torch": PackageFacts("torch", own), **facts}, lambda torch: requires.get(torch, ()), may_learn=True
        )


class Shape(NamedTuple):
    """How worlds are drawn: chances of a requirement, of a version that does not fit this machine, of an extra."""

    projects: int = 2
    versions: int = 1
    asked: int = 1
    other: float = 0.3
    torch: float = 0.6
    plain: float = 0.12
    unfit: float = 0.2
    extra: float = 0.15
    ranges: bool = True


LOOSE = Shape()
# Where nearly every version fits alone and few fit together, so that much has to be tried.
TIGHT = Shape(projects=4, versions=3, asked=2, other=0.2, torch=0.8, plain=0.05, unfit=0.0, extra=0.4)
# Where requirements on projects have no ranges and no extras, so that the newest version is the one that is read.
BARE = Shape(plain=0.0, unfit=0.0, extra=0.0, ranges=False)


def draw(seed: int, shape: Shape | None = None) -> World:
    """A world; every other one is tight."""
    shape = shape or (TIGHT if seed % 2 else LOOSE)
    random = Random(seed)  # noqa: S311
    names = STANDING[: random.randint(shape.projects, len(STANDING))]
    packages = {name: _project(random, name, names, shape) for name in names}
    for name in PLAIN:
        rows = [Package(name, version, _some(random, PLAIN, 0.2)) for version in VERSIONS[: random.randint(1, 3)]]
        packages[name] = tuple(rows)
    asked = [
        _asked(random, name, shape) for name in random.sample(names, random.randint(shape.asked, min(3, len(names))))
    ]
    limits = []
    if shape is LOOSE:
        asked += [random.choice(PLAIN) + random.choice(("", "<3", "==1.0"))] if random.random() < 0.3 else []
        asked += [random.choice(TORCHES)] if random.random() < 0.3 else []
        limits = (
            [random.choice((*names, *PLAIN)) + random.choice(("<3", "!=2.0", "<2"))] if random.random() < 0.2 else []
        )
    torch = {"2.11.0": ("p>=2", "q"), "2.10.0": ("q!=3.0",)} if random.random() < 0.4 else {}
    return World(packages, tuple(asked), tuple(limits), random.choice(("570.26", "580.95.05", "580.95.05")), torch)


def _asked(random: Random, name: str, shape: Shape) -> str:
    if not shape.ranges:
        return name
    extra = "[x]" if random.random() < 2 * shape.extra else ""
    return f"{name}{extra}{random.choice(('', '', '', '<3', '>=2')) if shape is LOOSE else ''}"


def _project(random: Random, name: str, names: Sequence[str], shape: Shape) -> tuple[Package, ...]:
    links, rows = random.random() < 0.5, []
    for version in VERSIONS[: random.randint(shape.versions, 3)]:
        others = [other for other in names if other != name and random.random() < shape.other]
        lines = [_line(random, other, shape) for other in others]
        lines += [_marked(random, random.choice(TORCHES), shape)] if random.random() < shape.torch else []
        lines += [_line(random, other, shape) for other in (*PLAIN, ABSENT) if random.random() < shape.plain]
        compiled = links and random.random() < 0.8
        unfit = random.choice(("python", "code", "yanked")) if random.random() < shape.unfit else ""
        code = LibraryCode("lib.so", (Arch.parse("sm_90" if unfit == "code" else "sm_80"),))
        rows.append(
            Package(
                name, version, tuple(lines), requires_python=">=3.13" if unfit == "python" else "",
                cuda=random.choice(("12", "13")) if compiled else None, links_torch=compiled,
                code=(code,) if compiled else (), file=f"{name}-{version}.whl", yanked=unfit == "yanked",
            )
        )  # fmt: skip
    return tuple(rows)


def _some(random: Random, names: Sequence[str], chance: float) -> tuple[str, ...]:
    return tuple(f"{name}{random.choice(_SPECIFIERS)}" for name in names if random.random() < chance)


def _line(random: Random, name: str, shape: Shape) -> str:
    if not shape.ranges:
        return name
    extra = "[x]" if random.random() < shape.extra else ""
    return _marked(random, f"{name}{extra}{random.choice(_SPECIFIERS)}", shape)


def _marked(random: Random, line: str, shape: Shape) -> str:
    quote = random.choice("\"'")
    return f"{line}; extra == {quote}x{quote}" if random.random() < shape.extra else line


# torchpick's answer, as all that is lacking was learnt.


class Found(NamedTuple):
    """The answer, and the catalog that it was given by."""

    solution: Solution | None
    catalog: Catalog
    search: SearchFacts

    @property
    def pins(self) -> tuple[Mapping[str, str], str | None] | None:
        if self.solution is None:
            return None
        build = self.solution.build
        chosen = {name: package.version for name, package in self.solution.packages.items()}
        return chosen, build and build.version


def found(world: World, replies: Random | None = None) -> Found:
    """The answer where all is known at once; with `replies` where some of what is lacking comes at a time, and more."""
    index = {**world.catalog.packages, ABSENT: absent(ABSENT)}
    catalog = world.catalog if replies is None else world.catalog._replace(packages={"torch": index["torch"]})
    for _ in range(400):
        search = SearchFacts(world.machine, TABLE, Wish(), catalog, world.bounds)
        answer = find_solution(search, world.wanted)
        if not isinstance(answer, Needs):
            return Found(answer, catalog, search)
        pages, metadata = [*answer.pages], [*answer.metadata]
        if replies is not None:
            pages, metadata = _arrived(replies, catalog, index, answer)
        packages = {**catalog.packages}
        for name in pages:
            if name not in packages:
                rows = (
                    row if replies is None else row._replace(requires=(), stage=Stage.LISTED)
                    for row in index[name].versions
                )
                packages[name] = index[name]._replace(versions=tuple(rows))
        for name, version in metadata:
            rows = (
                new if new.version == version else row
                for row, new in zip(packages[name].versions, index[name].versions, strict=True)
            )
            packages[name] = packages[name]._replace(versions=tuple(rows))
        catalog = catalog._replace(packages=packages, roots=tuple({**answer.roots, **dict(catalog.roots)}.items()))
    raise AssertionError("it asks for the same again and again")


def _arrived(
    replies: Random, catalog: Catalog, index: Mapping[str, PackageFacts], needs: Needs
) -> tuple[list[str], list[tuple[str, str]]]:
    """Some of what is needed, at least one thing, and sometimes what nobody needs."""
    wanted: list[str | tuple[str, str]] = [*needs.pages, *needs.metadata]
    some = replies.sample(wanted, replies.randint(1, len(wanted)))
    pages, metadata = (
        [each for each in some if isinstance(each, str)],
        [each for each in some if not isinstance(each, str)],
    )
    if replies.random() < 0.3:
        pages.append(replies.choice([*index]))
        known = [name for name in catalog.packages if index[name].versions and name != "torch"]
        metadata += [(name, replies.choice(index[name].versions).version) for name in known[:1]]
    return pages, metadata


def absent(name: str) -> PackageFacts:
    return PackageFacts(name, (), in_table=False, listed=True, unlisted="it is not on your index")


# The same by going through everything.


class Tried(NamedTuple):
    """What the search in order came to."""

    pins: tuple[Mapping[str, str], str | None] | None


class PlainSearch:
    """`order` is that of the projects on torch; any other is left alone."""

    def __init__(self, world: World, order: Sequence[str], builds: Sequence[Verdict]) -> None:
        self.world, self.order, self.builds = world, order, builds

    def first(self, asked: Sequence[str]) -> tuple[Mapping[str, str], str | None] | None:
        self._asked = [requirement(text) for text in asked]
        self._limits = [requirement(text) for text in self.world.limits]
        return self._complete({})

    def _complete(self, chosen: Mapping[str, Package]) -> tuple[Mapping[str, str], str | None] | None:
        posed = list(self._posed(chosen))
        builds = self._builds(chosen, [each for each, _ in posed])
        if self._is_contradicted(chosen, posed) or builds == []:
            return None
        names = {each.name for each, _ in posed}
        name = next((name for name in self.order if name in names and name not in chosen), None)
        if name is None:
            pins = {name: package.version for name, package in chosen.items()}
            return pins, builds[0].build.version if builds else None
        for package in self.world.packages[name]:
            if self._may_be(package, [each for each, _ in posed if each.name == name]):
                pins_ = self._complete({**chosen, name: package})
                if pins_ is not None:
                    return pins_
        return None

    def _posed(self, chosen: Mapping[str, Package]) -> Iterator[tuple[Requirement, str]]:
        """All that is asked, by whom; extras may bring extras."""
        todo = [(each, "") for each in self._asked]
        seen = set()
        for name, package in chosen.items():
            todo += [(each, name) for each in _required(package, "")]
        while todo:
            each, by = todo.pop()
            yield each, by
            for extra in each.extras if each.name in chosen else ():
                if (each.name, extra) not in seen:
                    seen.add((each.name, extra))
                    todo += [(more, each.name) for more in _required(chosen[each.name], extra)]

    def _may_be(self, package: Package, mine: Sequence[Requirement]) -> bool:
        """Whether it is asked for like this, and is for this machine."""
        limits = [each for each in self._limits if each.name == package.name]
        if not all(each.specifier.contains(package.version) for each in (*mine, *limits)):
            return False
        driver = int(self.world.driver.partition(".")[0])
        pinned = any(str(part) == f"=={package.version}" for each in mine for part in each.specifier)
        return not (
            package.requires_python == ">=3.13"
            or (package.yanked and not pinned)
            or (package.cuda == "13" and driver < 580)
            or any("sm_90" in str(library.arches[0]) for library in package.code or ())
        )

    def _is_contradicted(self, chosen: Mapping[str, Package], posed: Sequence[tuple[Requirement, str]]) -> bool:
        for each, by in posed:
            if each.name in chosen and not each.specifier.contains(chosen[each.name].version):
                return True
            rows = self.world.packages.get(each.name, ())
            if by and each.name != "torch" and not any(each.specifier.contains(row.version) for row in rows):
                return True
        asked = [each for each, _ in posed]
        others = {each.name for each in asked} - {"torch", *self.order}
        return any(not self._is_possible(name, [*asked, *self._limits]) for name in others)

    def _is_possible(self, name: str, asked: Sequence[Requirement]) -> bool:
        mine = [each.specifier for each in asked if each.name == name]
        return any(all(specifier.contains(point) for specifier in mine) for point in _POINTS)

    def _builds(self, chosen: Mapping[str, Package], posed: Sequence[Requirement]) -> list[Verdict] | None:
        """The torch builds that are left, best first; None where no torch is asked for."""
        links = [package for package in chosen.values() if package.links_torch]
        if not links and not any(each.name == "torch" for each in posed):
            return None
        majors = {package.cuda for package in links}
        fits = [
            verdict
            for verdict in self.builds
            if all(each.specifier.contains(verdict.build.torch) for each in posed if each.name == "torch")
            and majors <= {str(verdict.build.cuda_major)}
            and self._suits_torch(verdict.build, posed)
        ]
        if majors:
            fits.sort(key=lambda verdict: OWN_CUDA[verdict.build.torch] != verdict.build.cuda)
        return sorted(fits, key=lambda verdict: Version(verdict.build.torch), reverse=True)

    def _suits_torch(self, build: Build, posed: Sequence[Requirement]) -> bool:
        own = [requirement(line) for line in self.world.torch_requires.get(build.torch, ())]
        return all(self._is_possible(each.name, [*posed, *self._limits, each]) for each in own)


def tried(world: World, found: Found) -> Tried:
    """In the order that the cone states."""
    order = find_cone(found.search, world.wanted)[0]
    search = PlainSearch(world, sorted(order, key=order.__getitem__), found.search.builds)
    return Tried(search.first(world.asked))


@cache
def requirement(text: str) -> Requirement:
    return Requirement(text)


def _required(package: Package, extra: str) -> Iterator[Requirement]:
    for line in package.requires:
        each = requirement(line)
        if (each.marker is None) == (not extra):
            yield each
