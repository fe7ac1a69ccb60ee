"""What more environments or a newer driver would gain a fleet. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb

from torchpick.decide import driver_numbers
from torchpick.decide.cover import CoverSet, undominated
from torchpick.decide.kinds import GpuKind, MachineJudge, Pin, columns
from torchpick.decide.several import fewest, groups, shared
from torchpick.model.fleet import Fleet, Hosts, LeftOut
from torchpick.model.machine import Driver, Machine
from torchpick.model.noun import Noun
from torchpick.model.pick import GpuPlace, Group, Pick
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.versions import Release, numbers, release_key, span

# Each set of builds is tried up to here; beyond, the best set is widened and improved build by build.
_MOST_TRIED = 20_000
# More environments than anybody keeps.
MOST_STEPS = 8

_Gets = list[tuple[object, ...]]
Releases = Mapping[int, str]  # machine → the torch it gets; of several GPUs in it the oldest


class FleetStep(Noun):
    """A number of environments, and what each supports; `exact` is false where not every combination was tried."""

    groups: tuple[Group, ...]
    releases: Releases
    exact: bool = True


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
    """A fleet's answer, and the alternatives to it. `steps` are by the number of environments, from one."""

    fleet: Fleet
    answer: FleetStep
    steps: tuple[FleetStep, ...]
    unserved: tuple[GpuPlace, ...]
    upgrades: tuple[Upgrade, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether the answer and each step are the best there are."""
        return all(step.exact for step in (self.answer, *self.steps))


def outlook(fleet: Fleet, table: Table, wish: Wish, *, most: int | None = None, upgrades: bool = False) -> Outlook:
    """The answer with the fewest environments, or the best with at most so many, and what would change it."""
    judge = MachineJudge(table, wish)
    found = judge.judged(fleet.machines)
    weights = [crowd.hosts.count for crowd in fleet.crowds]
    plan = shared(found.running) or fewest(found.kinds)
    chosen = Chosen(tuple(plan)) if most is None else solve(found.kinds, most, weights, plan)
    answer = _step(found.kinds, chosen)
    served = {member for group in answer.groups for member in group.members}
    unserved = tuple(member for kind in found.kinds for member in kind.members if member not in served)
    limit = max(len(chosen.pins), 1)
    return Outlook(
        fleet,
        answer,
        _steps(found.kinds, weights, plan),
        unserved,
        _upgrades(fleet, judge, found.kinds, weights, limit) if upgrades else None,
    )


def _steps(kinds: Sequence[GpuKind], weights: Sequence[int], plan: Sequence[Pin]) -> tuple[FleetStep, ...]:
    """One environment, two, three …, until each kind has its own best."""
    found: list[FleetStep] = []
    best = {pin for kind in kinds if kind.served for pin in [_best(kind)]}
    for count in range(1, MOST_STEPS + 1):
        step = _step(kinds, solve(kinds, count, weights, plan))
        if found and step.releases == found[-1].releases:
            break
        found.append(step)
        if count >= len(best):
            break
    return tuple(found)


def _best(kind: GpuKind) -> Pin:
    return max(kind.served, key=lambda pin: kind.served[pin].rank)


def _step(kinds: Sequence[GpuKind], chosen: Chosen) -> FleetStep:
    listed = groups(kinds, chosen.pins)
    return FleetStep(listed, releases(listed), chosen.exact)


def releases(listed: Iterable[Group]) -> Releases:
    oldest: dict[int, str] = {}
    for group in listed:
        torch = group.verdict.build.torch
        for machine, _ in group.members:
            if machine not in oldest or release_key(torch) < release_key(oldest[machine]):
                oldest[machine] = torch
    return oldest


class _Class(Noun):
    """Kinds that the same builds support, and how many machines they are."""

    served: frozenset[Pin]
    weight: int


def solve(kinds: Sequence[GpuKind], limit: int, weights: Sequence[int], plan: Sequence[Pin]) -> Chosen:
    """At most so many builds: the most machines supported, then the oldest torch among them as new as possible."""
    if limit == len(plan):
        return Chosen(tuple(plan))
    candidates = columns(kinds)
    merged: dict[frozenset[Pin], int] = {}
    for kind in kinds:
        if kind.served:
            count = sum(weights[place] for place in {machine for machine, _ in kind.members})
            merged[frozenset(kind.served)] = merged.get(frozenset(kind.served), 0) + count
    classes = [_Class(*item) for item in merged.items()]
    pins = _useful(candidates)
    worth = {pin: candidates[pin].worth for pin in pins}
    detail = {pin: candidates[pin].detail for pin in pins}

    def value(chosen: Sequence[Pin]) -> tuple[int, _Gets, int, _Gets]:
        served = 0
        gets: _Gets = []
        for each in classes:
            able = [worth[pin] for pin in chosen if pin in each.served]
            if able:
                served += each.weight
                gets.append(max(able))
        return served, sorted(gets), -len(chosen), sorted(detail[pin] for pin in chosen)

    limit = min(limit, len(pins))
    if comb(len(pins), limit) <= _MOST_TRIED:
        tried = (chosen for count in range(1, limit + 1) for chosen in combinations(pins, count))
        return Chosen(max(tried, key=value, default=()))
    start = [pin for pin in plan if pin in worth][:limit]
    return Chosen(_improved(start, pins, limit, value), exact=False)


def _improved(
    start: Sequence[Pin],
    pins: Sequence[Pin],
    limit: int,
    value: Callable[[Sequence[Pin]], tuple[int, _Gets, int, _Gets]],
) -> tuple[Pin, ...]:
    """Widened one by one, then each build exchanged for a better one, until nothing gains."""
    chosen = list(start)
    while len(chosen) < limit:
        chosen = max(([*chosen, pin] for pin in pins if pin not in chosen), key=value)
    while True:
        others = (
            [*chosen[:place], pin, *chosen[place + 1 :]]
            for place in range(len(chosen))
            for pin in pins
            if pin not in chosen
        )
        better = max(others, key=value, default=chosen)
        if value(better) <= value(chosen):
            return tuple(chosen)
        chosen = better


def _useful(candidates: Mapping[Pin, CoverSet]) -> list[Pin]:
    """The builds that no other one covers and betters."""
    pins = list(candidates)
    return [pins[place] for place in undominated({place: candidates[pin] for place, pin in enumerate(pins)})]


def _moves(fleet: Fleet, before: Releases, after: Releases, places: Iterable[int]) -> tuple[Move, ...]:
    """Who gets another torch, the largest gain first."""
    moved: dict[tuple[str | None, str | None], list[int]] = {}
    for place in places:
        pair = before.get(place), after.get(place)
        if pair[0] != pair[1]:
            moved.setdefault(pair, []).append(place)
    moves = [Move(*pair, fleet.hosts(listed)) for pair, listed in moved.items()]
    return tuple(sorted(moves, key=lambda move: (move.hosts.count, _key(move.after)), reverse=True))


def _key(torch: str | None) -> Release:
    return release_key(torch or "0")


def _upgrades(
    fleet: Fleet, judge: MachineJudge, kinds: Sequence[GpuKind], weights: Sequence[int], limit: int
) -> tuple[Upgrade, ...]:
    """Each driver that is there to each newer branch, for its machines alone and for all that are older."""
    table = judge.table
    # Where nothing says how many environments there may be, as many as each GPU's support takes.
    before = _step(kinds, solve(kinds, limit, weights, fewest(kinds))).releases
    owners: dict[str, list[int]] = {}
    for place, machine in enumerate(fleet.machines):
        if machine.driver is not None and machine.driver.version is not None and _nvidia(machine):
            owners.setdefault(machine.driver.version, []).append(place)
    versions = sorted(owners, key=numbers)
    answers: list[Upgrade] = []
    seen: set[object] = set()
    for branch in [branch.number for branch in table.drivers.branches]:
        older = [version for version in versions if table.drivers.branch_number(Driver(version)) < branch]
        for listed in [*([version] for version in older), *([older] if len(older) > 1 else [])]:
            places = [place for version in listed for place in owners[version]]
            able = [place for place in places if _supports(fleet.machines[place], branch, table)]
            if not able:
                continue
            machines = list(fleet.machines)
            for place in able:
                machines[place] = driver_numbers.another(machines[place], str(branch), table.drivers)
            changed = judge.kinds(machines)
            after = _step(changed, solve(changed, limit, weights, fewest(changed))).releases
            moves = _moves(fleet, before, after, range(len(machines)))
            outcome = tuple(able), tuple(sorted(after.items()))
            if any(_key(move.after) > _key(move.before) for move in moves) and outcome not in seen:
                seen.add(outcome)
                answers.append(Upgrade(span(listed), str(branch), fleet.hosts(able), moves))
    return tuple(answers)


def _nvidia(machine: Machine) -> bool:
    return any(gpu.vendor == "nvidia" for gpu in machine.counted)


def _supports(machine: Machine, branch: int, table: Table) -> bool:
    """Whether a driver of that branch supports every GPU of the machine."""
    arches = [gpu.arch for gpu in machine.counted if gpu.arch is not None and gpu.arch.kind == "sm"]
    return all(table.drivers.unsupported(Driver(str(branch)), arch, machine.driver_os) is None for arch in arches)


class HostGroup(Noun):
    """Machines that share an environment: `pick` is what belongs into it, `hosts` who they are."""

    pick: Pick
    hosts: Hosts


class Groups:
    """A fleet's groups, the newest torch first. `left_out` did not answer, have no GPU, or no build runs there."""

    __slots__ = ("groups", "left_out")

    def __init__(self, groups: tuple[HostGroup, ...], left_out: tuple[LeftOut, ...]) -> None:
        self.groups = groups
        self.left_out = left_out

    def __iter__(self) -> Iterator[HostGroup]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, place: int) -> HostGroup:
        return self.groups[place]

    def __repr__(self) -> str:
        parts = [f"torch {group.pick.version} for {group.hosts}" for group in self.groups]
        left = sum(part.hosts.count for part in self.left_out)
        return f"<Groups: {'; '.join(parts) or 'none'}{f'; {left} left out' if left else ''}>"
