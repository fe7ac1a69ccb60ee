"""A fleet's answer, and what a newer driver would gain it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations, islice

from torchpick.decide import driver_numbers
from torchpick.decide.answer import constrained, excluding, of_family
from torchpick.decide.cover import undominated
from torchpick.decide.kinds import FleetFit, GpuKind, Pin, columns
from torchpick.decide.several import fewest, groups, shared, unserved
from torchpick.model.fleet import Fleet, Hosts, LeftOut
from torchpick.model.machine import Driver, Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import GpuPlace, Group, Pick, machines_of
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.versions import Release, grouped, numbers, release_key, span

# So many sets of builds are tried, the small ones first.
MOST_TRIED = 20_000

_Gets = list[tuple[object, ...]]
Releases = Mapping[int, str]  # machine → the torch it gets; of several GPUs in it the oldest


class Chosen(Noun):
    """A set of builds; `exact` where none is better."""

    pins: tuple[Pin, ...]
    exact: bool = True


class Move(Noun):
    """Machines that would get another torch; None where nothing runs."""

    before: str | None
    after: str | None
    hosts: Hosts

    def to_json(self) -> dict[str, object]:
        return {"before": self.before, "after": self.after, **self.hosts.to_json()}


class Upgrade(Noun):
    """A driver of some machines, a newer one, and who would move: the machines themselves, and others with them."""

    before: str
    after: str
    hosts: Hosts
    moves: tuple[Move, ...]


class Outlook(Noun):
    """A fleet's environments, and what newer drivers would gain; `exact` is false where better ones may exist."""

    fleet: Fleet
    groups: tuple[Group, ...]
    exact: bool
    unserved: tuple[GpuPlace, ...]
    upgrades: tuple[Upgrade, ...] | None = None
    notes: tuple[Note, ...] = ()


def outlook(fleet: Fleet, table: Table, wish: Wish, *, most: int | None = None, upgrades: bool = False) -> Outlook:
    """The answer with the fewest environments, or the best with at most so many, and what would change it."""
    judge = FleetFit(table, wish)
    kinds, plan = _fewest(judge, fleet)
    weights = [crowd.hosts.count for crowd in fleet.crowds]
    chosen = solve(kinds, most or len(plan), weights, plan)
    answer = groups(kinds, chosen.pins)
    limit = max(len(chosen.pins), 1)
    return Outlook(
        fleet,
        answer,
        chosen.exact,
        unserved(kinds, answer),
        _upgrades(fleet, judge, kinds, weights, limit) if upgrades else None,
        _bound(fleet, table, wish) if wish.limits else (),
    )


def _fewest(judge: FleetFit, fleet: Fleet) -> tuple[tuple[GpuKind, ...], tuple[Pin, ...]]:
    """The kinds of GPU in the fleet, and the one build that all machines run, else the fewest."""
    kinds = judge.kinds(fleet.machines)
    return kinds, shared(judge.running(fleet.machines)) or fewest(kinds)


def _bound(fleet: Fleet, table: Table, wish: Wish) -> tuple[Note, ...]:
    """What the limits changed, in the answer with the fewest environments."""
    builds = [group.verdict.build for group in groups(*_fewest(FleetFit(table, wish._replace(limits=())), fleet))]
    found = {build.version: excluding(wish.limits, of_family(build, wish)) for build in builds}
    limits = dict.fromkeys(limit for each in found.values() for limit in each)
    excluded = [f"torch {version}" for version, each in found.items() if each]
    return (constrained(tuple(limits), excluded),) if limits else ()


def releases(listed: Iterable[Group]) -> Releases:
    torches = [(group.verdict.build.torch, machines_of(group.members)) for group in listed]
    torches.sort(key=lambda pair: release_key(pair[0]), reverse=True)  # the oldest stands last
    return {machine: torch for torch, machines in torches for machine in machines}


def solve(kinds: Sequence[GpuKind], limit: int, weights: Sequence[int], plan: Sequence[Pin]) -> Chosen:
    """At most so many builds: the most machines supported, then the oldest torch among them as new as possible."""
    if limit == len(plan):
        return Chosen(tuple(plan))
    candidates = columns(kinds)
    # Kinds that the same builds support count as one, with all their machines.
    merged: Counter[frozenset[Pin]] = Counter()
    for kind in kinds:
        merged[frozenset(kind.served)] += sum(weights[place] for place in machines_of(kind.members))
    pins = undominated(candidates)

    def value(chosen: Sequence[Pin]) -> tuple[int, _Gets, int, _Gets]:
        served = 0
        gets: _Gets = []
        for pins_served, weight in merged.items():
            able = [candidates[pin].worth for pin in chosen if pin in pins_served]
            if able:
                served += weight
                gets.append(max(able))
        return served, sorted(gets), -len(chosen), sorted(candidates[pin].detail for pin in chosen)

    sets = (chosen for count in range(1, limit + 1) for chosen in combinations(pins, count))
    start = tuple(pin for pin in plan if pin in pins)[:limit]
    best = max(chain([start], islice(sets, MOST_TRIED)), key=value)
    return Chosen(best, exact=next(sets, None) is None)


def _moves(fleet: Fleet, before: Releases, after: Releases) -> tuple[Move, ...]:
    """Who gets another torch, the largest gain first."""
    moved = grouped(((before.get(place), after.get(place)), place) for place in range(len(fleet.crowds)))
    moves = [Move(old, new, fleet.hosts(listed)) for (old, new), listed in moved.items() if old != new]
    return tuple(sorted(moves, key=lambda move: (move.hosts.count, _key(move.after)), reverse=True))


def _key(torch: str | None) -> Release:
    return release_key(torch or "0")


def _upgrades(
    fleet: Fleet, judge: FleetFit, kinds: Sequence[GpuKind], weights: Sequence[int], limit: int
) -> tuple[Upgrade, ...]:
    """Each driver that is there to each newer branch, for its machines alone and for all that are older."""
    table = judge.table

    def given(kinds: Sequence[GpuKind]) -> Releases:
        return releases(groups(kinds, solve(kinds, limit, weights, fewest(kinds)).pins))

    before = given(kinds)
    owners = grouped(
        (machine.driver.version, place)
        for place, machine in enumerate(fleet.machines)
        if machine.driver and machine.driver.version and machine.nvidia
    )
    answers: list[Upgrade] = []
    for branch in [branch.number for branch in table.drivers.branches]:
        able = grouped(
            (version, place)
            for version in sorted(owners, key=numbers)
            if table.drivers.branch_number(Driver(version)) < branch
            for place in owners[version]
            if _supports(fleet.machines[place], branch, table)
        )
        for listed in [*([version] for version in able), *([[*able]] if len(able) > 1 else [])]:
            machines = list(fleet.machines)
            moved = [place for version in listed for place in able[version]]
            for place in moved:
                machines[place] = driver_numbers.another(machines[place], str(branch), table.drivers)
            moves = _moves(fleet, before, given(judge.kinds(machines)))
            # The row that touches the fewest drivers comes first; another with the same gain says nothing more.
            if any(_key(move.after) > _key(move.before) for move in moves) and moves not in (
                each.moves for each in answers
            ):
                answers.append(Upgrade(span(listed), str(branch), fleet.hosts(moved), moves))
    return tuple(answers)


def _supports(machine: Machine, branch: int, table: Table) -> bool:
    """Whether a driver of that branch supports every GPU of the machine."""
    arches = [gpu.arch for gpu in machine.nvidia if gpu.arch]
    return all(table.drivers.unsupported(Driver(str(branch)), arch, machine.driver_os) is None for arch in arches)


class HostGroup(Noun):
    """Machines that share an environment: `pick` is what belongs into it, `hosts` who they are."""

    pick: Pick
    hosts: Hosts


class Groups(tuple[HostGroup, ...]):  # noqa: SLOT001 # a tuple has no slots beside its items
    """A fleet's groups, the newest torch first. `left_out` did not answer, have no GPU, or no build runs there."""

    left_out: tuple[LeftOut, ...]

    def __new__(cls, groups: Iterable[HostGroup], left_out: tuple[LeftOut, ...]) -> Groups:  # noqa: PYI034
        made = super().__new__(cls, groups)
        made.left_out = left_out
        return made

    def __repr__(self) -> str:
        parts = [f"torch {group.pick.version} for {group.hosts}" for group in self]
        left = sum(part.hosts.count for part in self.left_out)
        return f"<Groups: {'; '.join(parts) or 'none'}{f'; {left} left out' if left else ''}>"
