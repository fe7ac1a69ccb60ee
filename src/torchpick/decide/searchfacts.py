"""What a search goes by: the machine, the builds that run there, what is known of packages, what was refused. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from torchpick.decide import buildfit
from torchpick.decide.demands import (
    PackageDemand,
    are_compatible,
    fitting,
    is_leaf,
    joined,
    meets,
    overridden,
    required,
)
from torchpick.decide.packagefit import PackageFit
from torchpick.model.build import JIT, TRIO, TRITONS, Objection, Reason, Verdict
from torchpick.model.machine import Machine
from torchpick.model.package import Catalog, Package, PackageFacts, PackageObjection, Stage
from torchpick.model.pick import Wish
from torchpick.model.table import Table
from torchpick.model.versions import grouped, release_key, remembered, span


class Needs(NamedTuple):
    """What has to be known before the search can go on: pages of projects, METADATA and GPU code of their versions.

    A page comes with the specifier that is known so far: METADATA of the newest within it is what is asked for next.
    `roots` are projects that only an older version requires, likewise.
    """

    pages: Mapping[str, str] = {}
    metadata: tuple[tuple[str, str], ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    roots: Mapping[str, str] = {}


def constrained(why: str) -> Objection:
    return Objection(Reason.CONSTRAINED, {"unmet": why})


def passed_over(package: Package | None, objection: Objection) -> PackageObjection:
    """Why a version is passed over; None where it is what was asked itself."""
    name, versions = ("torch", ()) if package is None else (package.name, (package.version,))
    return PackageObjection(name, versions, objection)


class SearchFacts:
    """One machine, one table, one wish, prepared once for all that is asked of them, and what was refused."""

    def __init__(
        self, machine: Machine, table: Table, wish: Wish, catalog: Catalog, limits: tuple[PackageDemand, ...] = ()
    ) -> None:
        self.machine, self.table, self.wish, self.catalog, self.limits = machine, table, wish, catalog, limits
        self.facts = catalog.packages
        self.fit = PackageFit(machine, table, catalog.shared_files)
        torch = self.facts.get("torch")
        # The default index's own torch: release → the CUDA that packages of its time link.
        self.own_cuda = {} if torch is None else {package.version: package.cuda for package in torch.versions}
        self.refused: list[PackageObjection] = []
        self.moved: list[PackageObjection] = []  # what was chosen, and could not be completed
        # What a release of torch itself requires of plain projects, by name.
        self.torch_demands = remembered(self._torch_demands)
        # All builds, running or not, that are what is asked of torch's family.
        self.meeting = remembered(self._meeting)
        self._within = remembered(self._admitted)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every build of the platform, judged by the machine and the flags alone."""
        return tuple(buildfit.judge(self.machine, self.table, self.wish._replace(torch="", companions={})))

    @cached_property
    def builds(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.ok)

    def gives_no_more(self, name: str) -> bool:
        """Whether a wheel of a project could not be read: those before it may lack as much as the newer ones do."""
        rows = (row for row in self.facts[name].versions if row.file is not None and row.stage is Stage.READ)
        return any(map(self.fit.is_unread, rows))

    def in_table(self, name: str) -> bool:
        return name in self.facts and self.facts[name].in_table

    def is_unseen(self, name: str) -> bool:
        """Whether a project's page is yet to be looked at: the table is not the index."""
        facts = self.facts.get(name) if self.catalog.may_learn else None
        return facts is not None and facts.in_table and not (facts.listed or facts.unlisted)

    def fitting(self, facts: PackageFacts, demands: Iterable[PackageDemand]) -> list[Package]:
        """The versions of a project that these demands admit, newest first; what is installed comes before them.

        Once nothing more can be learnt, a version that was only listed is none.
        """
        return self._within((facts.name, joined(demands)))

    def _admitted(self, of: tuple[str, str]) -> list[Package]:
        facts, learns = self.facts[of[0]], self.catalog.may_learn
        versions = [package for package in facts.versions if learns or package.stage is not Stage.LISTED]
        admitted = fitting(versions, [PackageDemand(*of)], pre=self.catalog.pre)
        installed = self.catalog.installed.get(facts.name)
        return admitted if installed is None else sorted(admitted, key=lambda package: package.version != installed)

    def required(self, package: Package, extras: tuple[str, ...]) -> tuple[PackageDemand, ...]:
        """What a version requires, as far as that counts."""
        lines = () if self.catalog.no_deps else package.requires
        return overridden(required(lines, self.machine, extras, package.who), self.catalog.overrides)

    def newest(self, facts: PackageFacts, demands: Sequence[PackageDemand]) -> Package | None:
        """The version that the closure reads: the newest that fits, of those for this Python if there are any."""
        admitted = self.fitting(facts, demands)
        of_python = (package for package in admitted if self.fit.is_of_python(package))
        return next(of_python, next(iter(admitted), None))

    def ordered(self, builds: Iterable[Verdict], *, packages: bool) -> tuple[Verdict, ...]:
        """Builds in the order of preference; beside CUDA packages the default index's own CUDA leads each release."""
        if not packages:
            return tuple(builds)

        def order(verdict: Verdict) -> tuple[object, ...]:
            is_own = self.own_cuda.get(verdict.build.torch) == verdict.build.cuda
            return verdict.rank.preference, verdict.rank.release, is_own

        return tuple(sorted(builds, key=order, reverse=True))

    def torch_conflict(self, release: str, demands: Iterable[PackageDemand]) -> str | None:
        """What this torch requires of a plain project that contradicts these demands, the limits included."""
        needs = self.torch_demands(release)
        every = (*demands, *self.limits)
        bound = grouped((demand.name, demand) for demand in every if demand.specifier and demand.name in needs)
        for name, others in bound.items():
            if not are_compatible([*others, needs[name]]):
                return f"torch {release} requires {needs[name].text}, and {others[0].text} is asked for"
        return None

    def unknown(self, demands: Iterable[PackageDemand]) -> dict[str, str]:
        """The packages of which no known version for this Python meets what is asked, each with all of that."""
        by_name = grouped((demand.name, demand) for demand in demands)
        return {name: joined(of_name) for name, of_name in by_name.items() if self._is_unknown(name, of_name)}

    def _is_unknown(self, name: str, demands: Sequence[PackageDemand]) -> bool:
        if name in TRIO or name in TRITONS or name.startswith("nvidia-"):
            return False
        facts = self.facts.get(name)
        if facts is None:
            return any(not demand.by for demand in demands)
        pins = {demand.specifier for demand in demands}
        rows = facts.versions
        of_python = [row for row in rows if self.fit.is_of_python(row) or f"=={row.version}" in pins]
        return facts.refused is None and not fitting(of_python, demands)

    def _meeting(self, demands: frozenset[PackageDemand]) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if all(meets(verdict.build, demand) for demand in demands))

    def _torch_demands(self, release: str) -> Mapping[str, PackageDemand]:
        lines = () if self.catalog.no_deps else self.catalog.torch_requirements(release)
        demands = overridden(required(lines, self.machine, (), f"torch {release}"), self.catalog.overrides)
        return {demand.name: demand for demand in demands if demand.specifier}

    def judged(
        self, facts: PackageFacts, demands: list[PackageDemand], builds: tuple[Verdict, ...], level: int
    ) -> Iterator[Package | PackageObjection | None]:
        """The versions that fit these demands, best first, and why one is passed over; None is one that was not read.

        What links torch has to be built for one of these builds, whatever else is chosen.
        """
        admitted = self.fitting(facts, demands)
        if not admitted:
            yield self._without_known(facts, demands)
        for package in self._worth_trying(facts, admitted) if admitted else ():
            if not isinstance(package, PackageObjection) and package.links_torch:
                objections = (self.fit.linked(package, verdict.build, level) for verdict in builds)
                first = next(objections, None)
                if first is not None and all(objections) and not self.fit.refusal(package):
                    yield passed_over(package, first)
                    continue
            yield package

    def _without_known(self, facts: PackageFacts, demands: list[PackageDemand]) -> PackageObjection | None:
        """None is one that is not in the table, which a note says, where what is there speaks for it."""
        versions = [package.version for package in facts.versions]
        text = ", ".join(dict.fromkeys(demand.text for demand in demands))
        why = f"no version is known for {self.machine.platform.name}"
        if versions:
            why = f"no version within `{text}` is known; known: {span(versions[::-1])}"
        why, version = facts.refused or why, ""
        is_unseen = facts.in_table and not facts.listed and facts.refused is None
        if is_unseen and all(demand.by for demand in demands):
            parts = joined(demands).split(",")
            version = max(parts, key=lambda part: part.startswith("=")).lstrip("=")
            unread = _unread_fault(facts.versions, version, self.fit.refusal)
            if unread is None:
                return None
            why = unread
        return PackageObjection(facts.name, (version,) if version else (), constrained(why))

    def _worth_trying(self, facts: PackageFacts, admitted: list[Package]) -> Iterator[Package | PackageObjection]:
        """What was not read comes last, and not at all where what was read beside it speaks against it."""
        fit, machine = self.fit, self.machine
        unread = [package for package in admitted if package.stage is Stage.READ and fit.is_unread(package)]
        hopeless = {*map(id, unread), *map(id, self._hopeless(facts, admitted))}
        judged = [package for package in admitted if id(package) not in hopeless]
        rows = facts.versions if unread else ()
        read = [package for package in rows if package.stage is Stage.READ and not fit.is_unread(package)]
        for package in unread:
            why = _unread_fault(read, package.version, fit.kernels)
            if why is None:
                judged.append(package)
            else:
                yield passed_over(package, constrained(why))
        for package in self._by_fit(judged):
            has_no_code = package.stage is not Stage.LISTED and facts.in_table and package.code == ()
            if has_no_code and _needs_torch(admitted[0], machine) and not _needs_torch(package, machine):
                why = "does not need torch by itself, so it is not what newer versions are"
                yield passed_over(package, constrained(why))
            else:
                yield package

    def _hopeless(self, facts: PackageFacts, admitted: list[Package]) -> Iterator[Package]:
        """The versions that are to be read and lie between, or before, known ones that do not run here."""
        read = [row for row in facts.versions if row.stage is Stage.READ and row.code and facts.in_table]
        # What is newer may be for what the newest known one is not.
        newer = {*map(id, facts.versions[: facts.versions.index(read[0])])} if read else set()
        for package in admitted if read else ():
            is_older = package.stage is not Stage.READ and id(package) not in newer
            if is_older and _unread_fault(read, package.version, self.fit.refusal) is not None:
                yield package

    def _by_fit(self, packages: Iterable[Package]) -> Iterator[Package]:
        """Of one version first what has machine code for the GPU, before PTX alone, and the default index's own.

        What is to be built comes last.
        """

        def order(package: Package) -> tuple[bool, bool, bool]:
            is_source = package.file is None and not package.place
            return is_source, self.fit.word(package) == JIT, package.place != ""

        for files in grouped((package.version, package) for package in packages).values():
            yield from sorted(files, key=order)


def _needs_torch(package: Package, machine: Machine) -> bool:
    demands = required(package.requires, machine, (), package.who)
    return package.links_torch or any(demand.name == "torch" for demand in demands)


def _unread_fault(
    versions: Sequence[Package], number: str, refusal: Callable[[Package], Objection | None]
) -> str | None:
    """What is against a version that has not been read: neither the known one before it nor the one after it runs."""
    beside = [*versions[:1], *versions[-1:]]
    try:
        wanted = release_key(number.removesuffix(".*"))
        older = [package for package in versions if release_key(package.version) <= wanted]
        newer = [package for package in versions if release_key(package.version) >= wanted]
        beside = older[:1] + newer[-1:]
    except ValueError:
        pass  # where a range is asked for, or a number of no such order, the ends stand for it
    refused = [f"{package.version}: {objection.text}" for package in beside if (objection := refusal(package))]
    return f"has not been read; {refused[0]}" if refused and len(refused) == len(beside) else None


# The projects on torch are those that link or bring CUDA, and all that require such a one, through others too. Only
# these are searched and pinned. Everything else is plain: read once, at the newest version that fits, to see whether
# it leads to torch and what it asks of the others.

# The version of a project that was read, and what it asks.
Reading = tuple[Package, tuple[PackageDemand, ...]]


def find_cone(
    search: SearchFacts, wanted: Sequence[PackageDemand]
) -> tuple[Mapping[str, int], Mapping[str, Reading], Needs | None]:
    """The projects on torch with their places in the order of choice, what the plain ones ask, and what is to be known.

    Until that is known the rest may be wrong.
    """
    # Where a version of a plain project is asked for, what the table's packages ask of such counts too.
    plain_pins = (demand for demand in wanted if demand.specifier and not is_leaf(demand.name))
    closure = _Closure(search, deep=not all(search.in_table(demand.name) for demand in plain_pins))
    closure.read(wanted, search.limits)
    roots = (PackageDemand(*root) for root in search.catalog.roots)
    closure.read([root for root in roots if root.name not in closure.readings], ())
    named = {demand.name for demand in wanted}
    order = _order(named, closure.edges, closure.standing(named))
    plain = {name: reading for name, reading in closure.readings.items() if name not in order}
    return order, plain, closure.needs()


class _Closure:
    """What a question leads to, breadth first."""

    def __init__(self, search: SearchFacts, *, deep: bool) -> None:
        self.search, self.facts, self.may_learn = search, search.facts, search.catalog.may_learn
        self.deep = deep and self.may_learn
        self.readings: dict[str, Reading] = {}
        self.edges: dict[str, dict[str, None]] = {}
        self._met: dict[str, tuple[PackageDemand, ...]] = {}
        self._seen: dict[str, frozenset[str]] = {}
        self._pages: list[str] = []
        self._metadata: dict[tuple[str, str], None] = {}

    def read(self, wanted: Iterable[PackageDemand], limits: Iterable[PackageDemand]) -> None:
        self._meet(limits)
        level = [*wanted]
        while level:
            self._meet(level)
            after: list[PackageDemand] = []
            for name in sorted({demand.name for demand in level}):
                extras = frozenset(extra for demand in self._met[name] for extra in demand.extras)
                if not is_leaf(name) and self._seen.get(name) != extras:
                    self._seen[name] = extras
                    after += self._read(name, tuple(sorted(extras)))
            level = after

    def needs(self) -> Needs | None:
        pages = {name: joined(self._met[name]) for name in self._pages}
        return Needs(pages, tuple(self._metadata)) if pages or self._metadata else None

    def standing(self, named: Iterable[str]) -> set[str]:
        users: dict[str, list[str]] = {}
        for name, required_names in self.edges.items():
            for other in required_names:
                users.setdefault(other, []).append(name)
        ends = {name for name in {*self.edges, *users, *named} if is_leaf(name) or self.search.in_table(name)}
        return {name for name in ends | _reached(ends, users) if not is_leaf(name) and name in self.facts}

    def _meet(self, demands: Iterable[PackageDemand]) -> None:
        for demand in demands:
            self._met[demand.name] = (*self._met.get(demand.name, ()), demand)

    def _read(self, name: str, extras: tuple[str, ...]) -> tuple[PackageDemand, ...]:
        """What a project asks at the newest version that fits; what is lacking for that is noted."""
        facts = self.facts.get(name)
        if facts is None:
            if self.may_learn:
                self._pages.append(name)
            return ()
        package = self.search.newest(facts, self._met[name]) or self.search.newest(facts, ())
        if package is None:
            return ()
        if package.stage is Stage.LISTED:
            if self.may_learn:
                self._metadata[name, package.version] = None
            return ()
        demands = self.search.required(package, extras)
        if facts.in_table and not self.deep:  # where its requirements lead was seen when it was measured
            demands = tuple(demand for demand in demands if is_leaf(demand.name) or self.search.in_table(demand.name))
        self.readings[name] = package, demands
        self.edges.setdefault(name, {}).update((demand.name, None) for demand in demands)
        return demands


def _order(named: set[str], edges: Mapping[str, Iterable[str]], standing: set[str]) -> Mapping[str, int]:
    """What is named first; a project before those that it requires, through others too; then by name."""
    reached = {name: _reached((name,), edges) for name in standing}
    places: dict[str, int] = {}
    for group in (standing & named, standing - named):
        left = sorted(group)
        while left:
            # One that no other requires, or only one that it requires itself.
            free = (
                name
                for name in left
                if not any(name in reached[other] and other not in reached[name] for other in left if other != name)
            )
            first = next(free, left[0])
            left.remove(first)
            places[first] = len(places)
    return places


def _reached(names: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """What these names lead to."""
    reached: set[str] = set()
    todo = [*names]
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return reached
