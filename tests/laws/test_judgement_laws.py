"""What holds for every machine, table and wish."""

from __future__ import annotations

import json
import random
from itertools import combinations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.strategies import DRIVERS, driver_versions, machines, table, tables, wishes
from torchpick.decide import buildfit, several
from torchpick.model.build import Build, Evidence, Reason, Verdict
from torchpick.model.machine import Driver, Machine
from torchpick.model.pick import Pick, Wish
from torchpick.model.table import BuildsByRelease, Table
from torchpick.model.versions import numbers


def judged(machine: Machine, known: Table, wish: Wish) -> list[Verdict]:
    return list(buildfit.judge(machine, known, wish))


def answer(machine: Machine, known: Table, wish: Wish, *, everything: bool = True) -> Pick:
    return buildfit.pick(machine, known, wish, everything=everything)


def key(verdict: Verdict) -> tuple[str, str]:
    return verdict.build.version, verdict.build.backend


@given(machines(), tables(), wishes)
def test_every_build_gets_exactly_one_verdict(machine: Machine, known: Table, wish: Wish) -> None:
    verdicts = judged(machine, known, wish)

    assert sorted(map(key, verdicts)) == sorted((build.version, build.backend) for build in known.of("linux-x86_64"))


@given(machines(), tables(), wishes)
def test_the_pick_is_the_first_that_runs_in_the_order_of_preference(machine: Machine, known: Table, wish: Wish) -> None:
    pick = answer(machine, known, wish)
    ranks = [verdict.rank for verdict in pick.considered]

    assert ranks == sorted(ranks, reverse=True)
    assert pick.verdicts == tuple(verdict for verdict in pick.considered if verdict.ok)[:1]


@given(machines(), tables(), wishes)
def test_judging_no_more_than_needed_gives_the_same_pick(machine: Machine, known: Table, wish: Wish) -> None:
    short, full = answer(machine, known, wish, everything=False), answer(machine, known, wish)

    assert (short.verdicts, short.notes, short.changes) == (full.verdicts, full.notes, full.changes)
    assert short.considered == full.considered[: len(short.considered)]


@given(machines(), tables(), wishes, st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_matter(
    machine: Machine, known: Table, wish: Wish, chance: random.Random
) -> None:
    shuffled = list(known.of("linux-x86_64"))
    chance.shuffle(shuffled)

    assert judged(machine, table(shuffled), wish) == judged(machine, known, wish)


@given(machines(), tables(), wishes)
def test_a_machine_is_served_if_and_only_if_each_of_its_gpus_is(machine: Machine, known: Table, wish: Wish) -> None:
    assume(machine.gpus)
    alone = [
        {key(each) for each in judged(machine._replace(gpus=(gpu,)), known, wish) if each.ok} for gpu in machine.gpus
    ]

    together = {key(each) for each in judged(machine, known, wish) if each.ok}

    assert together == set.intersection(*alone)


@given(machines(), tables(), wishes)
def test_what_a_verdict_says_of_one_gpu_is_what_that_gpu_alone_would_get(
    machine: Machine, known: Table, wish: Wish
) -> None:
    verdicts = judged(machine, known, wish)
    for gpu in machine.gpus:
        alone = {key(each) for each in judged(machine._replace(gpus=(gpu,)), known, wish) if each.ok}
        assert {key(each) for each in verdicts if each.supports(gpu.index)} == alone


@given(machines(), tables(), wishes, st.lists(driver_versions, min_size=2, max_size=2))
def test_a_newer_driver_never_loses_a_build_for_gpus_it_serves(
    machine: Machine, known: Table, wish: Wish, versions: list[str]
) -> None:
    older, newer = (Driver(version) for version in sorted(versions, key=numbers))
    served = tuple(gpu for gpu in machine.gpus if gpu.arch and not DRIVERS.unsupported(newer, gpu.arch, "linux"))
    running = [
        {key(each) for each in judged(machine._replace(driver=driver, gpus=served), known, wish) if each.ok}
        for driver in (older, newer)
    ]

    assert running[0] <= running[1]


@given(machines(), tables(), wishes)
def test_cpu_is_never_picked_in_silence(machine: Machine, known: Table, wish: Wish) -> None:
    pick = answer(machine, known, wish)

    if machine.gpus and pick.ok and pick.build.backend == "cpu":
        assert wish.allow_cpu or "cpu" in wish.backends
    if machine.gpus and pick.ok and pick.build.backend == "cpu" and "cpu" not in wish.backends:
        assert not any(each.ok for each in pick.considered if each.build.backend != "cpu")


@given(machines(), tables(), wishes)
def test_what_is_picked_has_a_fit_on_each_gpu_or_is_no_gpu_build(machine: Machine, known: Table, wish: Wish) -> None:
    pick = answer(machine, known, wish)

    if pick.ok and pick.build.family in ("cuda", "rocm"):
        assert [fit.gpu for fit in pick.verdicts[0].fits] == [gpu.index for gpu in machine.counted]
        assert all(fit.fit for fit in pick.verdicts[0].fits)


@given(machines(), tables(), wishes)
def test_a_change_names_the_only_kind_of_objection_of_its_build(machine: Machine, known: Table, wish: Wish) -> None:
    for change in answer(machine, known, wish).changes:
        # A driver too old for the build may be too old for the GPU as well: one newer driver is one change.
        more = {Reason.GPU_NOT_SERVED_BY_DRIVER} if change.code == Reason.DRIVER_TOO_OLD.name else set()
        assert {reason.name for reason in change.verdict.reasons - more} == {change.code}


def _numbered(place: int) -> Build:
    torch = f"2.{place}.0"
    return Build(
        torch, "cpu", "linux-x86_64", f"{torch}+cpu", None, (), ("cp312",), (), None, {}, {}, True, False, {}, {},
        Evidence("declared", "made up"),
    )  # fmt: skip


@given(st.lists(machines(most=2), min_size=1, max_size=3), tables(), wishes)
def test_one_pick_for_several_machines_runs_on_each(drawn: list[Machine], known: Table, wish: Wish) -> None:
    pick = several.pick(tuple(drawn), known, wish)
    running = [{key(each) for each in judged(machine, known, wish) if each.ok} for machine in drawn]

    assert pick.ok == bool(set.intersection(*running))
    assert all(key(pick.verdicts[place]) in running[place] for place in range(len(drawn)) if pick.ok)


@given(st.lists(machines(most=2), min_size=1, max_size=3), tables(), wishes)
def test_a_plan_serves_every_gpu_that_can_be_served_once_with_the_fewest_environments(
    drawn: list[Machine], known: Table, wish: Wish
) -> None:
    pick = several.pick(tuple(drawn), known, wish)
    if pick.ok:
        assert pick.plan == ()
        return
    able: dict[tuple[int, int | None], set[tuple[str, str]]] = {}
    for place, machine in enumerate(drawn):
        for gpu in machine.counted or (None,):
            alone = machine if gpu is None else machine._replace(gpus=(gpu,))
            able[place, None if gpu is None else gpu.index] = {
                key(each) for each in judged(alone, known, wish) if each.ok
            }
    servable = {member for member, pins in able.items() if pins}

    served = [member for group in pick.plan for member in group.members]

    assert sorted(served, key=str) == sorted(servable, key=str)
    assert all(key(group.verdict) in able[member] for group in pick.plan for member in group.members)
    assert len(pick.plan) == _fewest(able)


def _fewest(able: dict[tuple[int, int | None], set[tuple[str, str]]]) -> int:
    """By brute force: the smallest number of builds such that each servable GPU has one of them."""
    wanted = [pins for pins in able.values() if pins]
    pins = sorted(set().union(*wanted)) if wanted else []
    return next(
        size
        for size in range(len(pins) + 1)
        if any(all(want & set(chosen) for want in wanted) for chosen in combinations(pins, size))
    )


@given(machines())
def test_loading_what_was_dumped_is_the_identity(machine: Machine) -> None:
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine


def test_shelves_keep_what_they_are_given() -> None:
    shelf = BuildsByRelease.of([_numbered(1), _numbered(2)])

    assert [build.torch for build in shelf] == ["2.1.0", "2.2.0"]
