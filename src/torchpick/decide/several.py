"""Many machines → one pick that runs on all, or the fewest environments, and what a newer driver would gain. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import NamedTuple

from torchpick.decide import buildfit
from torchpick.decide.matrix import ByPin, FleetFit, GpuKind, Pin, columns, fewest, pin_of, undominated
from torchpick.decide.remarks import changes, excluding, family_pins, limits_note, notes
from torchpick.model.build import Objection, Reason
from torchpick.model.fields import dumps, envelope, plain
from torchpick.model.fleet import Crowd, Fleet, Hosts, LeftOut
from torchpick.model.machine import Driver, Machine, Note
from torchpick.model.pick import GpuPlace, Group, Pick, Wish, group_json, machines_of
from torchpick.model.table import DriverTable, Table
from torchpick.model.versions import Release, grouped, numbers, release_key, span

# So many sets of builds are tried, the small ones first.
MOST_TRIED = 20_000
# And so many drivers are moved one at a time to a newer branch.
_MOST_DRIVERS = 100
_ANOTHER = Objection(Reason.OTHER_TORCH, {"better": "another of these machines does not run it"})
_IDLE = "no GPU, and other machines have one"

Releases = Mapping[int, str]  # machine → the torch it gets


def pick(machines: tuple[Machine, ...], table: Table, wish: Wish) -> Pick:
    """One build for all the machines; if there is none, a plan with the fewest environments."""
    fit = FleetFit(table, wish)
    answer = buildfit.pick(machines[0], table, wish) if len(machines) == 1 else _common(machines, fit)
    if answer.ok:
        return answer
    kinds = fit.kinds(machines)
    plan = _groups(kinds, fewest(kinds))
    return answer._replace(plan=plan, unserved=_unserved(kinds, plan))


def _common(machines: tuple[Machine, ...], fit: FleetFit) -> Pick:
    """The best build of those that each machine runs; what was weighed is that of the machine that is worst off."""
    table, wish, running = fit.table, fit.wish, fit.running(machines)
    shared = _shared(running)

    def best(place: int) -> tuple[object, ...]:
        return next((verdict.rank for verdict in running[place].values()), ())

    worst = min(range(len(machines)), key=best)
    considered = tuple(
        verdict._replace(
            objections=(_ANOTHER,)
            if verdict.ok and pin_of(verdict) not in shared
            else tuple(objection._replace(machine=worst) for objection in verdict.objections)
        )
        for verdict in buildfit.judge(machines[worst], table, wish)
    )
    if not shared:
        # What the others run anyway is one change away.
        others = [verdicts for verdicts in running if verdicts is not running[worst]]
        near = (verdict for verdict in considered if all(pin_of(verdict) in verdicts for verdicts in others))
        return Pick(machines, wish, (), considered, changes=changes(near), table_date=table.date)
    pin = shared[0]
    chosen = tuple(
        verdicts[pin]._replace(fits=tuple(fit._replace(machine=index) for fit in verdicts[pin].fits))
        for index, verdicts in enumerate(running)
    )
    remarks: dict[Note, None] = {}
    different = {id(item[-1]): item for item in zip(machines, chosen, running, strict=True)}
    for machine, verdict, verdicts in different.values():
        remarks.update(dict.fromkeys(notes(verdict, machine, table, wish, tuple(verdicts.values()))))
    return Pick(machines, wish, chosen, considered, (*remarks, *table.notes), table_date=table.date)


def gpu_fleet(fleet: Fleet, wish: Wish) -> Fleet:
    """The fleet without the machines that have no GPU, if others have one and no cpu build was requested."""
    if wish.backends == ("cpu",) or not any(crowd.machine.counted for crowd in fleet.crowds):
        return fleet
    idle = [place for place, crowd in enumerate(fleet.crowds) if _is_idle(crowd.machine)]
    busy = tuple(crowd for crowd in fleet.crowds if not _is_idle(crowd.machine))
    left_out = (LeftOut(fleet.hosts(idle), "NO_GPU_LEFT_OUT", _IDLE),) if idle else ()
    return fleet._replace(crowds=busy, idle=left_out)


def _is_idle(machine: Machine) -> bool:
    """Without a GPU, also of those for which a wheel need hold no code (a Mac's, Intel's)."""
    return not machine.used and machine.platform.os != "macos"


def completed(fleet: Fleet, table: DriverTable) -> Fleet:
    """The fleet with what is assumed of each machine; with several machines each note is given once."""
    crowds, counts = [], Counter(dict(fleet.remarks))
    alone = fleet.count == 1
    for crowd in fleet.crowds:
        machine = buildfit.complete_driver(crowd.machine, table)
        for note in machine.notes if not alone else ():
            counts[note] += crowd.hosts.count
        crowds.append(Crowd(machine if alone else machine._replace(notes=()), crowd.hosts))
    return fleet._replace(crowds=tuple(crowds), remarks=tuple(counts.items()))


def _shared(running: Sequence[ByPin]) -> tuple[Pin, ...]:
    """The builds that every machine runs, the best first."""
    different = list({id(verdicts): verdicts for verdicts in running}.values())
    pins = set[Pin]().union(*different[:1]).intersection(*different[1:])
    return tuple(sorted(pins, key=lambda pin: min(verdicts[pin].rank for verdicts in different), reverse=True))


def _groups(kinds: Sequence[GpuKind], chosen: Sequence[Pin]) -> tuple[Group, ...]:
    """Each kind in the environment of these that suits it best; the newest torch first."""
    able = ((members, served, [pin for pin in chosen if pin in served]) for members, served in kinds)
    by_pin = grouped(
        (max(pins, key=lambda pin: served[pin].rank), (members, served)) for members, served, pins in able if pins
    )
    environments = [_group(pin, of_pin) for pin, of_pin in by_pin.items()]
    return tuple(sorted(environments, key=lambda group: group.verdict.rank, reverse=True))


def _group(pin: Pin, kinds: list[GpuKind]) -> Group:
    members = tuple(member for of_kind, _ in kinds for member in of_kind)
    fits = tuple(
        fit._replace(gpu=gpu, machine=machine)
        for of_kind, served in kinds
        for machine, gpu in of_kind
        if gpu is not None
        for fit in served[pin].fits
    )
    worst = min((served[pin] for _, served in kinds), key=lambda verdict: verdict.rank)
    return Group(members, worst._replace(fits=fits))


def _unserved(kinds: Iterable[GpuKind], plan: Iterable[Group]) -> tuple[GpuPlace, ...]:
    served = {member for group in plan for member in group.members}
    return tuple(member for of_kind, _ in kinds for member in of_kind if member not in served)


# A fleet's answer, and what a newer driver would gain it.


# Machines that would get another torch: which, which instead (None where nothing runs), and who they are.
Move = tuple[str | None, str | None, Hosts]


# A driver of some machines, a newer one, whose they are, and who would move: the machines themselves, and others with
# them.
Upgrade = tuple[str, str, Hosts, tuple[Move, ...]]


class HostGroup(NamedTuple):
    """Machines that share an environment: `pick` is what belongs into it, `hosts` who they are."""

    pick: Pick
    hosts: Hosts


class Groups(NamedTuple):
    """A fleet's environments, the newest torch first; `exact` is false where better ones may exist.

    `nothing` is the pick of nothing for the machines on which no build runs, `unserved` are also those that
    `most` environments leave without one.
    """

    fleet: Fleet
    wish: Wish
    plan: tuple[Group, ...]
    unserved: tuple[GpuPlace, ...] = ()
    nothing: Pick | None = None
    exact: bool = True
    upgrades: tuple[Upgrade, ...] | None = None
    notes: tuple[Note, ...] = ()

    @property
    def groups(self) -> tuple[HostGroup, ...]:
        """Each environment with its machines."""
        by_group = [(group.verdict, machines_of(group.members)) for group in self.plan]
        machines, wish = self.fleet.machines, self.wish
        picks = [Pick(tuple(machines[at] for at in places), wish, (one,), ()) for one, places in by_group]
        hosts = [self.fleet.hosts(places) for _, places in by_group]
        return tuple(map(HostGroup, picks, hosts))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The machines that did not answer, that have no GPU, or on which no build runs."""
        hosts = self.fleet.hosts(machines_of(self.unserved))
        none = LeftOut(hosts, "NO_BUILD", "no build runs there in these environments")
        return (*self.fleet.left_out, *([none] if self.unserved else []))

    @property
    def ok(self) -> bool:
        """Whether every machine with a GPU that answered has an environment."""
        return not self.unserved

    def require(self) -> Groups:
        """The groups themselves; NoBuildError where no build runs on one of the machines."""
        if self.nothing is not None:
            self.nothing.require()
        return self

    def to_dict(self) -> dict[str, object]:
        """Hosts and pick of each group, as `torchpick fleet --json` has them."""
        plan = [group_json(group, self.wish, self.fleet) for group in self.plan]
        return envelope("fleet", 0 if self.ok else 3, plan=plain(plan), left_out=plain(self.left_out))

    def to_json(self) -> str:
        return dumps(self.to_dict())

    def __repr__(self) -> str:
        parts = [f"torch {group.pick.version} for {group.hosts}" for group in self.groups]
        left = sum(part.hosts.count for part in self.left_out)
        return f"<Groups: {'; '.join(parts) or 'none'}{f'; {left} left out' if left else ''}>"


def outlook(fleet: Fleet, table: Table, wish: Wish, *, most: int | None = None, upgrades: bool = False) -> Groups:
    """The answer with the fewest environments, or the best with at most so many, and what would change it."""
    fit = FleetFit(table, wish)
    kinds, pins = _plan(fit, fleet)
    weights = [crowd.hosts.count for crowd in fleet.crowds]
    pins, exact = _at_most(most or len(pins), kinds, weights, pins)
    plan = _groups(kinds, pins)
    gains = _upgrades(fleet, fit, kinds, weights, max(len(pins), 1)) if upgrades else None
    hopeless = machines_of(tuple(member for members, served in kinds if not served for member in members))
    alone = Fleet(tuple(fleet.crowds[place] for place in hopeless))
    refused = f"no build runs on {fleet.hosts(hopeless)}", "`left_out` names them; `torchpick fleet` says why"
    nothing = pick(alone.machines, table, wish)._replace(fleet=alone, refusal=refused) if hopeless else None
    return Groups(fleet, wish, plan, _unserved(kinds, plan), nothing, exact, gains, _bound(fleet, table, wish))


def _plan(fit: FleetFit, fleet: Fleet) -> tuple[tuple[GpuKind, ...], tuple[Pin, ...]]:
    """The kinds of GPU in a fleet, and the fewest builds for all of them: one that each machine runs, if there is."""
    kinds = fit.kinds(fleet.machines)
    return kinds, _shared(fit.running(fleet.machines))[:1] or fewest(kinds)


def _bound(fleet: Fleet, table: Table, wish: Wish) -> tuple[Note, ...]:
    """What the limits changed, by the answer without them."""
    if not wish.limits:
        return ()
    builds = [group.verdict.build for group in _groups(*_plan(FleetFit(table, wish._replace(limits=())), fleet))]
    excluded = {build.version: excluding(wish.limits, family_pins(build, wish)) for build in builds}
    limits = dict.fromkeys(limit for of_build in excluded.values() for limit in of_build)
    versions = [f"torch {version}" for version, of_build in excluded.items() if of_build]
    return (limits_note(tuple(limits), versions),) if limits else ()


def _at_most(
    limit: int, kinds: Sequence[GpuKind], weights: Sequence[int], plan: tuple[Pin, ...]
) -> tuple[tuple[Pin, ...], bool]:
    """At most so many builds: the most machines supported, then the oldest torch among them as new as possible.

    And whether none are better. Where the plan is as good, it stays: its toolkits too.
    """
    if limit == len(plan):
        return plan, True
    builds = columns(kinds)
    candidates = undominated(builds)
    first = {pin: worth for pin, (_, worth, _) in builds.items()}
    second = {pin: worth for pin, (_, _, worth) in builds.items()}
    # Kinds that the same builds support count as one, with all their machines.
    merged: Counter[frozenset[Pin]] = Counter()
    for members, served in kinds:
        merged[frozenset(served)] += sum(weights[index] for index in machines_of(members))

    def value(chosen: Sequence[Pin]) -> tuple[object, ...]:
        gets = [([first[pin] for pin in chosen if pin in pins], weight) for pins, weight in merged.items()]
        count = sum(weight for worths, weight in gets if worths)
        oldest_first = sorted(max(worths) for worths, _ in gets if worths)
        return count, oldest_first, -len(chosen), chosen == plan, sorted(second[pin] for pin in chosen)

    sets = (chosen for count in range(1, limit + 1) for chosen in combinations(candidates, count))
    best = max(chain([plan[:limit]], islice(sets, MOST_TRIED)), key=value)
    return best, next(sets, None) is None


def _moves(fleet: Fleet, before: Releases, after: Releases) -> tuple[Move, ...]:
    """Who gets another torch, the largest gain first."""
    moved = grouped(((before.get(index), after.get(index)), index) for index in range(len(fleet.crowds)))
    moves = [(old, new, fleet.hosts(places)) for (old, new), places in moved.items() if old != new]

    def gain(move: Move) -> tuple[int, Release]:
        _, torch, hosts = move
        return hosts.count, _release(torch)

    return tuple(sorted(moves, key=gain, reverse=True))


def _release(torch: str | None) -> Release:
    return release_key(torch or "0")


def _upgrades(
    fleet: Fleet, fit: FleetFit, kinds: Sequence[GpuKind], weights: Sequence[int], limit: int
) -> tuple[Upgrade, ...]:
    """Each driver that is there to each newer branch, for its machines alone and for all that are older."""
    drivers, machines = fit.table.drivers, fleet.machines

    def given(kinds: Sequence[GpuKind]) -> Releases:
        """Which torch each machine gets; of several GPUs in it the oldest, which stands last."""
        pins, _ = _at_most(limit, kinds, weights, fewest(kinds))
        groups = [*_groups(kinds, pins)]
        groups.sort(key=lambda group: release_key(group.verdict.build.torch), reverse=True)
        return {machine: group.verdict.build.torch for group in groups for machine in machines_of(group.members)}

    before = given(kinds)
    owners = grouped(
        (machine.driver.version, index)
        for index, machine in enumerate(machines)
        if machine.driver and machine.driver.version and machine.nvidia
    )
    answers: dict[tuple[Move, ...], Upgrade] = {}
    for branch in drivers.branches:
        able = grouped(
            (version, index)
            for version in sorted(owners, key=numbers)
            if drivers.branch_number(Driver(version)) < branch
            for index in owners[version]
            if _supports(machines[index], branch, drivers)
        )
        alone = islice(([version] for version in able), _MOST_DRIVERS)
        for versions in [*alone, *([[*able]] if len(able) > 1 else [])]:
            upgraded = [*machines]
            moved = [index for version in versions for index in able[version]]
            for index in moved:
                upgraded[index] = buildfit.with_driver(machines[index], str(branch), drivers)
            moves = _moves(fleet, before, given(fit.kinds(upgraded)))
            # The row that touches the fewest drivers comes first; another with the same gain says nothing more.
            if any(_release(new) > _release(old) for old, new, _ in moves):
                answers.setdefault(moves, (span(versions), str(branch), fleet.hosts(moved), moves))
    return tuple(answers.values())


def _supports(machine: Machine, branch: int, drivers: DriverTable) -> bool:
    """Whether a driver of that branch supports every GPU of the machine."""
    arches = [gpu.arch for gpu in machine.nvidia if gpu.arch]
    return not any(drivers.unsupported(Driver(str(branch)), arch, machine.driver_os) for arch in arches)
