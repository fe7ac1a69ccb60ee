"""Many machines → one pick that runs on all of them, or the fewest environments that serve every GPU. Pure.

The judgement is resolve's: an objection names the GPU it concerns, so what one GPU alone would run is read off the
same verdicts, and nothing is judged twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick import resolve
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.table import Table
from torchpick.model.verdict import Group, Objection, Pick, Rank, Verdict
from torchpick.model.versions import Release, release_key
from torchpick.model.wish import Wish
from torchpick.remarks import changes, notes

# Exact up to here: 2^12 subsets; beyond, the greedy cover.
EXACT_KINDS = 12

_NEWEST: Release = ((10**9,), 0, 0)

Pin = tuple[str, str]  # version and backend: what one environment holds
Member = tuple[int, int | None]  # machine, GPU; None for a machine without GPUs


class _Kind(Noun):
    """GPUs that no build can tell apart: same machine facts, same architecture."""

    machine: int
    gpu: int | None
    members: tuple[Member, ...]


def pick(machines: tuple[Machine, ...], table: Table, wish: Wish) -> Pick:
    """One build for all the machines; where there is none, a plan of the fewest environments."""
    if len(machines) == 1:
        answer = resolve.pick(machines[0], table, wish, resolve.judge(machines[0], table, wish))
        return answer if answer.ok else _with_plan(answer, [answer.considered])
    judged = _judge(machines, table, wish)
    answer = _common(machines, table, wish, judged)
    return answer if answer.ok else _with_plan(answer, judged)


def _with_plan(answer: Pick, judged: list[tuple[Verdict, ...]]) -> Pick:
    plan = _plan(answer.machines, judged)
    served = {member for group in plan for member in group.members}
    members = [member for kind in _kinds(answer.machines) for member in kind.members]
    return answer._replace(plan=plan, unserved=tuple(member for member in members if member not in served))


def _judge(machines: tuple[Machine, ...], table: Table, wish: Wish) -> list[tuple[Verdict, ...]]:
    """The verdicts for each machine; equal machines share them."""
    known: dict[object, tuple[Verdict, ...]] = {}
    found = []
    for machine in machines:
        key = _signature(machine), tuple((gpu.index, gpu.name, gpu.arch) for gpu in machine.counted)
        if key not in known:
            known[key] = tuple(resolve.judge(machine, table, wish))
        found.append(known[key])
    return found


def _signature(machine: Machine) -> object:
    """What a build can tell of a machine, its GPUs aside."""
    driver = machine.driver
    facts = None if driver is None else (driver.version, driver.cuda, driver.os)
    return machine.platform, machine.python.tag, facts


def _common(machines: tuple[Machine, ...], table: Table, wish: Wish, judged: list[tuple[Verdict, ...]]) -> Pick:
    running = [{_pin(verdict): verdict for verdict in verdicts if verdict.ok} for verdicts in judged]
    shared = set(running[0]).intersection(*running[1:])
    merged = _merged(judged)
    if not shared:
        return Pick(machines, wish, (), merged, changes=changes(merged))
    best = max(shared, key=lambda pin: min(each[pin].rank for each in running))
    chosen = tuple(
        each[best]._replace(fits=tuple(fit._replace(machine=place) for fit in each[best].fits))
        for place, each in enumerate(running)
    )
    remarks: dict[Note, None] = {}
    asked: set[int] = set()
    for machine, verdict, verdicts in zip(machines, chosen, judged, strict=True):
        if id(verdicts) not in asked:
            asked.add(id(verdicts))
            remarks.update(dict.fromkeys(notes(verdict, machine, table, verdicts)))
    return Pick(machines, wish, chosen, merged, tuple(remarks))


def _pin(verdict: Verdict) -> Pin:
    return verdict.build.version, verdict.build.backend


def _merged(judged: list[tuple[Verdict, ...]]) -> tuple[Verdict, ...]:
    """One list for all the machines: a build of a platform with the objections of every machine of that platform."""
    found: dict[tuple[str, str, str], Verdict] = {}
    # Equal machines share their verdicts; the first of them speaks for all.
    first = {id(verdicts): place for place, verdicts in reversed(list(enumerate(judged)))}
    for place in sorted(first.values()):
        for verdict in judged[place]:
            key = (*_pin(verdict), verdict.build.platform)
            mine: tuple[Objection, ...] = tuple(each._replace(machine=place) for each in verdict.objections)
            fits = tuple(each._replace(machine=place) for each in verdict.fits)
            other = found.get(key)
            if other is None:
                found[key] = verdict._replace(objections=mine, fits=fits)
            else:
                found[key] = other._replace(
                    objections=other.objections + mine,
                    fits=other.fits + fits,
                    native=other.native and verdict.native,
                    rank=min(other.rank, verdict.rank),
                )
    return tuple(sorted(found.values(), key=lambda each: (each.rank, each.build.platform), reverse=True))


def _plan(machines: tuple[Machine, ...], judged: list[tuple[Verdict, ...]]) -> tuple[Group, ...]:
    kinds = _kinds(machines)
    served: dict[Pin, dict[int, Verdict]] = {}
    for place, kind in enumerate(kinds):
        for verdict in judged[kind.machine]:
            if verdict.ok if kind.gpu is None else verdict.serves(kind.gpu):
                served.setdefault(_pin(verdict), {})[place] = _alone(verdict, kind.gpu)
    sets = _best_per_set(served)
    masks = _exact(sets) if len(kinds) <= EXACT_KINDS else _greedy(sets)
    groups = []
    left = (1 << len(kinds)) - 1
    for mask in sorted(masks, key=lambda each: _worth(served[sets[each]], each), reverse=True):
        mine, left = mask & left, left & ~mask
        if mine:
            groups.append(_group(kinds, served, mine))
    return tuple(groups)


def _kinds(machines: tuple[Machine, ...]) -> tuple[_Kind, ...]:
    found: dict[tuple[object, Arch | str | None], list[Member]] = {}
    for place, machine in enumerate(machines):
        counted: Iterable[Gpu | None] = machine.counted or (None,)
        for gpu in counted:
            key = (_signature(machine), "none" if gpu is None else gpu.arch)
            found.setdefault(key, []).append((place, None if gpu is None else gpu.index))
    return tuple(_Kind(*members[0], tuple(members)) for members in found.values())


def _alone(verdict: Verdict, gpu: int | None) -> Verdict:
    """The verdict as if this GPU were the only one."""
    fits = tuple(fit for fit in verdict.fits if fit.gpu == gpu)
    worst = min((int(fit.fit) for fit in fits), default=verdict.rank.worst_fit)
    return verdict._replace(objections=(), fits=fits, rank=verdict.rank._replace(worst_fit=worst))


def _worth(verdicts: Mapping[int, Verdict], mask: int) -> Rank:
    """The order of preference over the kinds of this set."""
    return min(verdict.rank for place, verdict in verdicts.items() if mask >> place & 1)


def _best_per_set(served: Mapping[Pin, Mapping[int, Verdict]]) -> dict[int, Pin]:
    """For each set of kinds that some build serves, the best such build."""
    found: dict[int, Pin] = {}
    for pin, verdicts in served.items():
        mask = sum(1 << place for place in verdicts)
        if mask not in found or _worth(verdicts, mask) > _worth(served[found[mask]], mask):
            found[mask] = pin
    return found


def _exact(sets: Mapping[int, Pin]) -> list[int]:
    """The fewest sets that cover all that can be covered; among equals the one whose oldest release is newest."""
    best: dict[int, tuple[int, Release, tuple[int, ...]]] = {0: (0, _NEWEST, ())}
    everything = 0
    for mask in sets:
        everything |= mask
    for covered in range(everything + 1):
        if covered not in best:
            continue
        count, oldest, chosen = best[covered]
        for mask in sets:
            wider = covered | mask
            if wider == covered:
                continue
            candidate = (count + 1, min(oldest, _release(sets[mask])), (*chosen, mask))
            known = best.get(wider)
            if known is None or (-candidate[0], candidate[1]) > (-known[0], known[1]):
                best[wider] = candidate
    return list(best[everything][2])


def _greedy(sets: Mapping[int, Pin]) -> list[int]:
    chosen: list[int] = []
    covered = 0
    while True:
        new = {mask: (mask & ~covered).bit_count() for mask in sets}
        if not any(new.values()):
            return chosen
        best = max(sets, key=lambda mask: (new[mask], _release(sets[mask]), mask))
        chosen.append(best)
        covered |= best


def _group(kinds: tuple[_Kind, ...], served: Mapping[Pin, Mapping[int, Verdict]], mask: int) -> Group:
    """The best build for exactly these kinds: it may be newer than the one that covered more."""
    places = [place for place in range(len(kinds)) if mask >> place & 1]
    able = {pin: verdicts for pin, verdicts in served.items() if all(place in verdicts for place in places)}
    best = max(able, key=lambda pin: _worth(able[pin], mask))
    members = tuple(member for place in places for member in kinds[place].members)
    fits = tuple(
        fit._replace(gpu=gpu, machine=machine)
        for place in places
        for machine, gpu in kinds[place].members
        if gpu is not None
        for fit in able[best][place].fits
    )
    return Group(members, able[best][places[0]]._replace(fits=fits))


def _release(pin: Pin) -> Release:
    return release_key(pin[0])
