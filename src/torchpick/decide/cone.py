"""Which projects stand on torch: those that link or bring CUDA, and all that require such a one, through others too.

Only these are searched and pinned. Everything else is plain: read once, at the newest version that fits, to see whether
it leads to torch and what it asks of the others. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from torchpick.decide.demands import PackageDemand, brings_cuda, joined, of_version
from torchpick.decide.search import Needs
from torchpick.model.build import TRIO, TRITONS
from torchpick.model.package import Catalog, Package, PackageFacts, Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torchpick.model.machine import Machine

    Newest = Callable[[PackageFacts, Sequence[PackageDemand]], Package | None]


def is_leaf(name: str) -> bool:
    """Whether a project is judged by its name alone, as a part of torch or of CUDA."""
    return name in TRIO or name in TRITONS or brings_cuda(name)


class ProjectReading(NamedTuple):
    """The version of a project that was read, and what it asks."""

    package: Package
    demands: tuple[PackageDemand, ...]


class Cone(NamedTuple):
    """The projects on torch, each with its place in the order of choice, and what the plain ones ask.

    `needs` is what has to be known first; until then the rest may be wrong.
    """

    order: Mapping[str, int]
    plain: Mapping[str, ProjectReading]
    needs: Needs | None = None


def find_cone(
    asked: Sequence[PackageDemand],
    limits: Iterable[PackageDemand],
    catalog: Catalog,
    machine: Machine,
    newest: Newest,
) -> Cone:
    """The cone of what is asked; `newest` chooses the version of a project that is read."""
    closure = _Closure(catalog, machine, newest, deep=any(_is_plain(demand, catalog) for demand in asked))
    closure.read(asked, limits)
    closure.read([PackageDemand(*root) for root in catalog.roots if root[0] not in closure.readings], ())
    named = {demand.name for demand in asked}
    order = _order(named, closure.edges, closure.standing(named))
    plain = {name: reading for name, reading in closure.readings.items() if name not in order}
    return Cone(order, plain, closure.needs())


class _Closure:
    """What a question leads to, breadth first."""

    def __init__(
        self,
        catalog: Catalog,
        machine: Machine,
        newest: Newest,
        *,
        deep: bool,
    ) -> None:
        self.facts, self.may_learn = catalog.packages, catalog.may_learn
        self.catalog = catalog
        self.machine, self.newest, self.deep = machine, newest, deep and catalog.may_learn
        self.readings: dict[str, ProjectReading] = {}
        self.edges: dict[str, dict[str, None]] = {}
        self._met: dict[str, tuple[PackageDemand, ...]] = {}
        self._seen: dict[str, frozenset[str]] = {}
        self._pages: list[str] = []
        self._metadata: dict[tuple[str, str], None] = {}

    def read(self, asked: Iterable[PackageDemand], limits: Iterable[PackageDemand]) -> None:
        for limit in limits:
            self._met[limit.name] = (*self._met.get(limit.name, ()), limit)
        level = [*asked]
        while level:
            for demand in level:
                self._met[demand.name] = (*self._met.get(demand.name, ()), demand)
            after: list[PackageDemand] = []
            for name in sorted({demand.name for demand in level}):
                extras = frozenset(extra for demand in self._met[name] for extra in demand.extras)
                if is_leaf(name) or self._seen.get(name) == extras:
                    continue
                self._seen[name] = extras
                after += self._read(name, tuple(sorted(extras)))
            level = after

    def needs(self) -> Needs | None:
        pages = {name: joined(self._met[name]) for name in self._pages}
        return Needs(pages, tuple(self._metadata)) if pages or self._metadata else None

    def standing(self, named: Iterable[str]) -> set[str]:
        """The projects that lead to torch or to CUDA."""
        users: dict[str, set[str]] = {}
        for name, required_names in self.edges.items():
            for other in required_names:
                users.setdefault(other, set()).add(name)
        found: set[str] = set()
        todo = [name for name in {*self.edges, *users, *named} if is_leaf(name) or self._in_table(name)]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += users.get(name, ())
        return {name for name in found if not is_leaf(name) and name in self.facts}

    def _in_table(self, name: str) -> bool:
        return name in self.facts and self.facts[name].in_table

    def _read(self, name: str, extras: tuple[str, ...]) -> tuple[PackageDemand, ...]:
        """What a project asks at the newest version that fits; what is lacking for that is noted."""
        facts = self.facts.get(name)
        if facts is None:
            if self.may_learn:
                self._pages.append(name)
            return ()
        package = self.newest(facts, self._met[name]) or self.newest(facts, ())
        if package is None:
            return ()
        if package.stage is Stage.LISTED:
            if self.may_learn:
                self._metadata[name, package.version] = None
            return ()
        demands = of_version(package, self.catalog, self.machine, extras)
        if facts.in_table and not self.deep:  # where its requirements lead was seen when it was measured
            demands = tuple(demand for demand in demands if is_leaf(demand.name) or self._in_table(demand.name))
        self.readings[name] = ProjectReading(package, demands)
        self.edges.setdefault(name, {}).update((demand.name, None) for demand in demands)
        return demands


def _is_plain(demand: PackageDemand, catalog: Catalog) -> bool:
    """Whether a version of a plain project is asked for: then what the table's packages ask of such counts too."""
    facts = catalog.packages.get(demand.name)
    return demand.specifier != "" and not is_leaf(demand.name) and (facts is None or not facts.in_table)


def _order(named: set[str], edges: Mapping[str, Iterable[str]], standing: set[str]) -> Mapping[str, int]:
    """What is named first; a project before those that it requires, through others too; then by name."""
    reached = {name: _reached(name, edges) for name in standing}
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


def _reached(name: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found
