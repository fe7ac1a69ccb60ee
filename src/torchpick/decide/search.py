"""Depth-first search with conflict-directed backjumping, and which projects are searched: the cone on torch. Pure.

A choice is moved only when nothing after it can be completed, and then to its own next candidate: what comes later
never replaces it, so the first solution found is the best one. A conflict names the choices that together exclude every
completion; where a project has no candidate left, the search jumps back to the latest of them and leaves out what lies
between, which could change nothing.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

from torchpick.decide.demands import PackageDemand, is_leaf, joined
from torchpick.model.package import Package, Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torchpick.decide.searchfacts import SearchFacts

S = TypeVar("S")
C = TypeVar("C")
# The names of choices; nothing of what was asked itself, which cannot be moved.
Causes = frozenset[str]


class Conflict(NamedTuple):
    """These choices together can never be completed."""

    causes: Causes = frozenset()


class Needs(NamedTuple):
    """What has to be known before the search can go on: pages of projects, METADATA and GPU code of their versions.

    A page comes with the specifier that is known so far: METADATA of the newest within it is what is asked for next.
    `roots` are projects that only an older version requires, likewise.
    """

    pages: Mapping[str, str] = {}
    metadata: tuple[tuple[str, str], ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    roots: Mapping[str, str] = {}


class Problem(Protocol[S, C]):
    """What is searched; a state is a value, and the same state always has the same next project and candidates."""

    def next_project(self, state: S) -> str | None:
        """The project to choose next; None where all are chosen."""

    def candidates(self, state: S, name: str) -> tuple[Iterable[C], Causes]:
        """Its candidates, best first, and the choices that ask for it or exclude others."""
        ...

    def choose(self, state: S, name: str, candidate: C) -> S | Conflict | Needs:
        """The state with this candidate in it, or why it cannot be."""
        ...

    def finish(self, state: S) -> Conflict | Needs | None:
        """What is against a state in which all is chosen."""

    def retreat(self, name: str, candidate: C) -> None:
        """Hear that a candidate which was chosen cannot be completed."""


class _Choice(Generic[S, C]):
    """A project on the stack: the state before it, the candidates that are left, and what excluded the others."""

    def __init__(self, name: str, before: S, candidates: Iterable[C], causes: Causes) -> None:
        self.name, self.before, self.candidates, self.causes = name, before, iter(candidates), causes
        self.taken: list[C] = []  # the candidate that the choices after it stand on


def solve(problem: Problem[S, C], start: S, most_steps: int) -> S | Conflict | Needs | None:
    """The first solution; else the choices that exclude any (none: what was asked does), or what is to be learnt.

    None where so many steps came to no end: hostile requirements must not be searched for ever.
    """
    stack: list[_Choice[S, C]] = []
    outcome: S | Conflict | Needs = start
    for _ in range(most_steps):
        if isinstance(outcome, Needs):
            return outcome
        if isinstance(outcome, Conflict):
            back = _jump_back(stack, outcome.causes)
            if back is None:
                return outcome
            choice = back
            while choice.taken:
                problem.retreat(choice.name, choice.taken.pop())
        else:
            name = problem.next_project(outcome)
            if name is None:
                against = problem.finish(outcome)
                if against is None:
                    return outcome
                outcome = against
                continue
            choice = _Choice(name, outcome, *problem.candidates(outcome, name))
            stack.append(choice)
        for candidate in choice.candidates:
            outcome = problem.choose(choice.before, choice.name, candidate)
            if isinstance(outcome, Conflict):
                outcome = Conflict(outcome.causes | {choice.name})
            else:
                choice.taken.append(candidate)
            break
        else:
            outcome = Conflict(stack.pop().causes)
    return None


def _jump_back(stack: list[_Choice[S, C]], causes: Causes) -> _Choice[S, C] | None:
    """The latest choice among the causes, which inherits the others; what came after it is forgotten."""
    while stack and stack[-1].name not in causes:
        stack.pop()
    if not stack:
        return None
    stack[-1].causes |= causes - {stack[-1].name}
    return stack[-1]


# The projects on torch are those that link or bring CUDA, and all that require such a one, through others too. Only
# these are searched and pinned. Everything else is plain: read once, at the newest version that fits, to see whether
# it leads to torch and what it asks of the others.

# The version of a project that was read, and what it asks.
Reading = tuple[Package, tuple[PackageDemand, ...]]


class Cone(NamedTuple):
    """The projects on torch, each with its place in the order of choice, and what the plain ones ask.

    `needs` is what has to be known first; until then the rest may be wrong.
    """

    order: Mapping[str, int]
    plain: Mapping[str, Reading]
    needs: Needs | None = None


def find_cone(search: SearchFacts, wanted: Sequence[PackageDemand]) -> Cone:
    """The cone of what is asked, by what the search knows of packages."""
    # Where a version of a plain project is asked for, what the table's packages ask of such counts too.
    plain_pins = (demand for demand in wanted if demand.specifier and not is_leaf(demand.name))
    closure = _Closure(search, deep=not all(search.in_table(demand.name) for demand in plain_pins))
    closure.read(wanted, search.limits)
    roots = (PackageDemand(*root) for root in search.catalog.roots)
    closure.read([root for root in roots if root.name not in closure.readings], ())
    named = {demand.name for demand in wanted}
    order = _order(named, closure.edges, closure.standing(named))
    plain = {name: reading for name, reading in closure.readings.items() if name not in order}
    return Cone(order, plain, closure.needs())


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
        """The projects that lead to torch or to CUDA."""
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
