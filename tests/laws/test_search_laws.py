"""What holds of every search: worlds drawn by a number, compared with going through everything in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeVar

import pytest
from packaging.requirements import Requirement

from tests.laws import worlds
from tests.laws.worlds import Found, World
from torchpick.decide.backjumping import Causes, solve
from torchpick.decide.searchfacts import find_cone
from torchpick.model.package import Package

T = TypeVar("T")
_LONG = pytest.param(range(10_000), marks=pytest.mark.long, id="10000")
five_hundred = pytest.mark.parametrize("seeds", [pytest.param(range(500), id="500"), _LONG])
# Where each takes searches of its own.
one_hundred = pytest.mark.parametrize("seeds", [pytest.param(range(100), id="100"), _LONG])


@lru_cache(maxsize=500)
def known(seed: int) -> tuple[World, Found]:
    """A world and its answer, for all the laws that look at one."""
    world = worlds.draw(seed)
    return world, worlds.found(world)


# The engine alone: projects with numbers for versions, and what each asks of others.

Graph = Mapping[str, Mapping[int, Mapping[str, frozenset[int]]]]


class State(NamedTuple):
    chosen: Mapping[str, int]
    posed: Mapping[str, tuple[tuple[frozenset[int], Causes], ...]]


class Drawn:
    """A graph as a problem, which counts the choices that are tried."""

    def __init__(self, graph: Graph, named: Iterable[str]) -> None:
        self.graph, self.named, self.steps = graph, frozenset(named), 0
        everything = frozenset(range(1, 5))
        self.start = State({}, {name: ((everything, frozenset()),) for name in self.named})

    def next_project(self, state: State) -> str | None:
        open_names = (name for name in state.posed if name not in state.chosen)
        return min(open_names, default=None, key=lambda name: (name not in self.named, name))

    def candidates(self, state: State, name: str) -> tuple[list[int], Causes]:
        posed = state.posed[name]
        versions = sorted(self.graph[name], reverse=True)
        causes = posed[0][1].union(*(by for admitted, by in posed if not admitted.issuperset(versions)))
        return [version for version in versions if all(version in admitted for admitted, _ in posed)], causes

    def choose(self, state: State, name: str, candidate: int) -> State | Causes:
        self.steps += 1
        chosen, posed = {**state.chosen, name: candidate}, dict(state.posed)
        for other, admitted in self.graph[name][candidate].items():
            if other in chosen and chosen[other] not in admitted:
                return frozenset({other})
            posed[other] = (*posed.get(other, ()), (admitted, frozenset({name})))
        return State(chosen, posed)

    def finish(self, state: State) -> None:
        """All that is chosen fits."""

    def retreat(self, name: str, candidate: int) -> None:
        """Nobody asks why."""

    def first(self, state: State) -> State | None:
        """By going through everything in the same order."""
        name = self.next_project(state)
        if name is None:
            return state
        for candidate in self.candidates(state, name)[0]:
            after = self.choose(state, name, candidate)
            found = None if isinstance(after, frozenset) else self.first(after)
            if found is not None:
                return found
        return None


def drawn_graph(seed: int) -> tuple[Graph, list[str]]:
    """Every other one without cycles: there a project asks for later ones alone."""
    random = Random(seed)  # noqa: S311
    names = "abcdefgh"[: random.randint(2, 8)]
    graph: dict[str, dict[int, dict[str, frozenset[int]]]] = {}
    for place, name in enumerate(names):
        others = names[place + 1 :] if seed % 2 else names.replace(name, "")
        graph[name] = {}
        for version in range(1, random.randint(2, 5)):
            required = random.sample(others, random.randint(0, min(3, len(others))))
            graph[name][version] = {
                other: frozenset(random.sample(range(1, 5), random.randint(1, 3))) for other in required
            }
    return graph, random.sample(names, random.randint(1, min(3, len(names))))


@five_hundred
def test_the_first_solution_is_that_of_going_through_everything_in_order(seeds: range) -> None:
    solvable = 0
    for seed in seeds:
        graph, named = drawn_graph(seed)
        problem, slow = Drawn(graph, named), Drawn(graph, named)
        found, wanted = solve(problem, problem.start, 1_000_000), slow.first(slow.start)

        assert isinstance(found, State if wanted is not None else frozenset), seed
        assert wanted is None or (isinstance(found, State) and found.chosen == wanted.chosen), seed
        assert problem.steps <= slow.steps, seed
        solvable += wanted is not None
    assert len(seeds) // 4 < solvable < len(seeds)  # both kinds were drawn


def test_a_conflict_of_the_question_itself_names_no_choice() -> None:
    problem = Drawn({"a": {1: {"b": frozenset({2})}}, "b": {1: {}}}, "ab")

    assert solve(problem, problem.start, 100) == frozenset()


def test_what_lies_between_a_conflict_and_its_cause_is_not_tried_again() -> None:
    """`a` 2 excludes every `e`; the three between have nothing to do with it."""
    every: Mapping[int, Mapping[str, frozenset[int]]] = {version: {} for version in range(1, 5)}
    two = {2: {"e": frozenset({4})}, 1: {}}
    problem = Drawn({"a": two, "b": every, "c": every, "d": every, "e": {1: {}}}, "abcde")

    found = solve(problem, problem.start, 1000)

    assert isinstance(found, State)
    assert (found.chosen["a"], problem.steps) == (1, 9)


def test_steps_are_bounded() -> None:
    """Eight that all want to be another of seven."""
    names = "abcdefgh"
    others = {version: frozenset(range(1, 8)) - {version} for version in range(1, 8)}
    graph = {
        name: {version: {other: others[version] for other in names if other != name} for version in others}
        for name in names
    }
    problem = Drawn(graph, names)
    problem.start = State({}, {name: ((frozenset(others), frozenset()),) for name in names})

    assert solve(problem, problem.start, 300) is None


# The whole search.


@five_hundred
def test_an_answer_is_that_of_going_through_everything_in_the_stated_order(seeds: range) -> None:
    solvable = 0
    for seed in seeds:
        world, found = known(seed)
        wanted = worlds.tried(world, found)

        assert found.pins == wanted.pins, seed
        solvable += wanted.pins is not None
    assert len(seeds) // 4 < solvable < len(seeds)


@one_hundred
def test_the_order_of_names_and_of_lines_changes_nothing(seeds: range) -> None:
    for seed in seeds:
        random, (world, found) = Random(seed), known(seed)  # noqa: S311
        packages = [
            (name, tuple(row._replace(requires=tuple(_shuffled(random, row.requires))) for row in rows))
            for name, rows in world.packages.items()
        ]
        other = world._replace(
            packages=dict(_shuffled(random, packages)), asked=tuple(_shuffled(random, (*world.asked, world.asked[0])))
        )

        assert worlds.found(other).pins == found.pins, seed


@one_hundred
def test_the_order_of_replies_and_what_is_known_besides_change_nothing(seeds: range) -> None:
    for seed in seeds:
        world, found = known(seed)

        replies = Random(seed)  # noqa: S311
        assert worlds.found(world, replies).pins == found.pins, seed


@one_hundred
def test_one_more_version_of_a_project_that_leads_nowhere_changes_nothing(seeds: range) -> None:
    for seed in seeds:
        world, before = known(seed)
        # One that meets a requirement that no other version meets would change what can be had.
        asked = {Requirement(line) for line in (*world.asked, *_lines(world)) if Requirement(line).name == "p"}
        met = all(any(each.specifier.contains(row.version) for row in world.packages["p"]) for each in asked)
        for version in ("9.0", "2.5", "0.1"):
            rows = sorted((*world.packages["p"], Package("p", version)), key=lambda row: row.version, reverse=True)
            after = worlds.found(world._replace(packages={**world.packages, "p": tuple(rows)}))

            assert after.pins == before.pins or not met, (seed, version)


@five_hundred
def test_a_named_project_is_never_older_than_the_newest_that_fits_with_those_before_it(seeds: range) -> None:
    older = 0
    for seed in seeds:
        world, found = known(seed)
        if found.solution is None:
            continue
        order, packages = find_cone(found.search, world.wanted)[0], {**world.packages}
        for name, package in sorted(found.solution.packages.items(), key=lambda pair: order[pair[0]]):
            if name not in {demand.name for demand in world.wanted}:
                continue
            for newer in packages[name][: packages[name].index(package)]:
                # Whether anything fits does not depend on the order in which it is looked for.
                other = world._replace(packages={**packages, name: (newer,)})
                search = worlds.PlainSearch(other, sorted(order, reverse=True), found.search.builds)
                assert search.first(world.asked) is None, (seed, newer.who)
                older += 1
            packages[name] = (package,)
    assert older > len(seeds) // 10


@five_hundred
def test_every_pin_meets_what_every_other_requires(seeds: range) -> None:
    for seed in seeds:
        world, found = known(seed)
        solution, order = found.solution, find_cone(found.search, world.wanted)[0]
        if solution is None:
            continue
        pins = {name: package.version for name, package in solution.packages.items()}
        if solution.build is not None:
            pins["torch"] = solution.build.torch
        extras = {
            name: {"", *(x for demand in solution.demands if demand.name == name for x in demand.extras)}
            for name in pins
        }
        for package in solution.packages.values():
            for line in map(Requirement, package.requires):
                if line.marker and not any(line.marker.evaluate({"extra": extra}) for extra in extras[package.name]):
                    continue
                if line.name in order or line.name == "torch":
                    assert line.specifier.contains(pins[line.name]), (seed, package.who, line)
                assert line.extras <= extras.get(line.name, line.extras), (seed, package.who, line)
            if package.major is not None and solution.build is not None:
                assert package.major == solution.build.cuda_major, seed


@one_hundred
def test_what_is_named_comes_first_and_before_what_it_requires(seeds: range) -> None:
    for seed in seeds:
        world = worlds.draw(seed, worlds.BARE)
        found = worlds.found(world)
        if found.solution is None:
            continue
        named, order = {demand.name for demand in world.wanted}, [*find_cone(found.search, world.wanted)[0]]
        reached = {name: {*_reached(world, name)} for name in order}
        assert [name in named for name in order] == sorted((name in named for name in order), reverse=True), seed
        for place, name in enumerate(order):
            for later in order[place + 1 :]:
                if (name in named) == (later in named) and name in reached[later]:
                    assert later in reached[name], (seed, name, later)
        # What is unrelated stands by name, wherever nothing else decides.
        if not any(reached.values()):
            assert order == [*sorted(named & {*order}), *sorted({*order} - named)], seed


def test_whoever_asks_for_an_extra_is_a_cause_of_what_that_brings() -> None:
    """`c` does not fit beside `a` with the extra that `b` 2 asks for: it is `b` that moves, which comes after `a`."""
    rows: Mapping[str, Mapping[str, tuple[str, ...]]] = {
        "a": {"2.0": ("torch==2.9.*",), "1.0": ("torch",)},
        "b": {"2.0": ("c[x]",), "1.0": ("c",)},
        "c": {"1.0": ("torch", "torch>=2.10; extra == 'x'")},
    }
    packages = {
        name: tuple(Package(name, version, lines) for version, lines in versions.items())
        for name, versions in rows.items()
    }
    world = World(packages, ("a", "b", "c"))

    assert worlds.found(world).pins == ({"a": "2.0", "b": "1.0", "c": "1.0"}, "2.9.0+cu128")


def _shuffled(random: Random, items: Iterable[T]) -> list[T]:
    found = [*items]
    random.shuffle(found)
    return found


def _lines(world: World) -> Iterator[str]:
    for rows in world.packages.values():
        for row in rows:
            yield from row.requires
    for lines in world.torch_requires.values():
        yield from lines
    yield from world.limits


def _reached(world: World, name: str) -> Iterator[str]:
    """What the newest version of a project leads to."""
    todo, seen = [name], set()
    while todo:
        for row in world.packages.get(todo.pop(), ())[:1]:
            for line in row.requires:
                other = Requirement(line).name
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
                    yield other
