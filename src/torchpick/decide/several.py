"""Many machines → one pick that runs on all of them, or the fewest environments that support every GPU. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from torchpick.decide import cover, driver_numbers, resolve
from torchpick.decide.kinds import FleetFit, GpuKind, Pin, columns
from torchpick.decide.remarks import changes, notes
from torchpick.model.fleet import Crowd, Fleet, LeftOut
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import GpuPlace, Group, Pick
from torchpick.model.request import Wish
from torchpick.model.table import DriverTable, Table
from torchpick.model.verdict import Verdict
from torchpick.model.versions import grouped

_IDLE = "it has no GPU, and other machines do"


def pick(machines: tuple[Machine, ...], table: Table, wish: Wish) -> Pick:
    """One build for all the machines; if there is none, a plan with the fewest environments."""
    judge = FleetFit(table, wish)
    answer = resolve.pick(machines[0], table, wish) if len(machines) == 1 else _common(machines, judge)
    if answer.ok:
        return answer
    kinds = judge.kinds(machines)
    plan = groups(kinds, fewest(kinds))
    return answer._replace(plan=plan, unserved=unserved(kinds, plan))


def gpu_fleet(fleet: Fleet, wish: Wish) -> Fleet:
    """The fleet without the machines that have no GPU, if others have one and no cpu build was requested."""
    if wish.backends == ("cpu",) or not any(crowd.machine.counted for crowd in fleet.crowds):
        return fleet
    idle = [crowd for crowd in fleet.crowds if _idle(crowd.machine)]
    parts = tuple(LeftOut(crowd.hosts, "NO_GPU_LEFT_OUT", _IDLE) for crowd in idle)
    kept = tuple(crowd for crowd in fleet.crowds if not _idle(crowd.machine))
    return fleet._replace(crowds=kept, idle=(*fleet.idle, *parts))


def _idle(machine: Machine) -> bool:
    """Without a GPU, also of those for which a wheel need hold no code (a Mac's, Intel's)."""
    return not machine.used and machine.platform.os != "macos"


def completed(fleet: Fleet, table: DriverTable) -> Fleet:
    """The fleet with what is assumed of each machine; with several machines each note is given once."""
    crowds, counts = [], Counter(dict(fleet.remarks))
    alone = fleet.count == 1
    for crowd in fleet.crowds:
        machine = driver_numbers.completed(crowd.machine, table)
        for note in machine.notes if not alone else ():
            counts[note] += crowd.hosts.count
        crowds.append(Crowd(machine if alone else machine._replace(notes=()), crowd.hosts))
    return fleet._replace(crowds=tuple(crowds), remarks=tuple(counts.items()))


def groups(kinds: Sequence[GpuKind], chosen: Sequence[Pin]) -> tuple[Group, ...]:
    """Each kind in the environment of these that suits it best; the newest torch first."""
    able = ((kind, [pin for pin in chosen if pin in kind.served]) for kind in kinds)
    places = grouped((max(pins, key=lambda pin: kind.served[pin].rank), kind) for kind, pins in able if pins)
    environments = [_group(pin, listed) for pin, listed in places.items()]
    return tuple(sorted(environments, key=lambda group: group.verdict.rank, reverse=True))


def _group(pin: Pin, kinds: list[GpuKind]) -> Group:
    alone = [kind.served[pin] for kind in kinds]
    fits = tuple(
        fit._replace(gpu=gpu, machine=machine)
        for kind, verdict in zip(kinds, alone, strict=True)
        for machine, gpu in kind.members
        if gpu is not None
        for fit in verdict.fits
    )
    members = tuple(member for kind in kinds for member in kind.members)
    return Group(members, min(alone, key=lambda verdict: verdict.rank)._replace(fits=fits))


def fewest(kinds: Sequence[GpuKind]) -> tuple[Pin, ...]:
    """The fewest builds that support every kind that any build supports."""
    return cover.fewest(columns(kinds))


def unserved(kinds: Iterable[GpuKind], plan: Iterable[Group]) -> tuple[GpuPlace, ...]:
    """The GPUs that none of these environments supports."""
    served = {member for group in plan for member in group.members}
    return tuple(member for kind in kinds for member in kind.members if member not in served)


def shared(running: Sequence[Mapping[Pin, Verdict]]) -> tuple[Pin, ...]:
    """The best of the builds that every machine runs; nothing where there is none."""
    different = list({id(verdicts): verdicts for verdicts in running}.values())
    pins = set(different[0]).intersection(*different[1:])
    return (max(pins, key=lambda pin: min(verdicts[pin].rank for verdicts in different)),) if pins else ()


def _common(machines: tuple[Machine, ...], judge: FleetFit) -> Pick:
    table, wish = judge.table, judge.wish
    running = judge.running(machines)
    considered = judge.considered.verdicts()
    best = next(iter(shared(running)), None)
    if best is None:
        alike = len({machine.platform.name for machine in machines}) == 1  # no change is one for every system
        return Pick(machines, wish, (), considered, changes=changes(considered) if alike else (), table_date=table.date)
    chosen = tuple(
        verdicts[best]._replace(fits=tuple(fit._replace(machine=place) for fit in verdicts[best].fits))
        for place, verdicts in enumerate(running)
    )
    remarks: dict[Note, None] = {}
    different = {id(each[-1]): each for each in zip(machines, chosen, running, strict=True)}
    for machine, verdict, verdicts in different.values():
        remarks.update(dict.fromkeys(notes(verdict, machine, table, wish, tuple(verdicts.values()))))
    return Pick(machines, wish, chosen, considered, (*remarks, *table.notes), table_date=table.date)
