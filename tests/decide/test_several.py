"""A fleet's environments, each rule on the smallest fleet that shows it."""

from __future__ import annotations

import pytest

from tests.decide.test_buildfit import ROCM, build, machine
from tests.growth import in_line
from tests.laws.strategies import table
from torchpick.decide import matrix, several
from torchpick.decide.several import Groups
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build
from torchpick.model.fleet import Crowd, Fleet, Hosts, LeftOut
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pick import Group, Limit, Wish, group_json

IDLE, MAC = machine(driver=None), Machine(Platform("macos", "arm64"), Python("3.12"))
INTEL = IDLE._replace(gpus=(Gpu(0, "intel", "Arc", None),))
HIDDEN = machine("sm_80")._replace(gpus=(machine("sm_80").gpus[0]._replace(counted=False),))
OLD, NEW = build("2.9.0", "cu126", "sm_60 sm_61 sm_80"), build("2.11.0", "cu130", "sm_61 sm_80 sm_90")


def fleet(*machines: Machine, counts: tuple[int, ...] = ()) -> Fleet:
    return Fleet(
        tuple(
            Crowd(where, Hosts((), count)) for where, count in zip(machines, counts or [1] * len(machines), strict=True)
        )
    )


def outlook(of: Fleet, *builds: Build, wish: Wish | None = None, **how: object) -> Groups:
    return several.outlook(of, table([*builds]), wish or Wish(), **how)  # type: ignore[arg-type]


def picked(found: Groups) -> list[tuple[str, tuple[object, ...]]]:
    return [(group.verdict.build.version, group.members) for group in found.plan]


@pytest.mark.parametrize(("backends", "left"), [((), [0, 1, 2, 3]), (("cpu",), None), (("cpu", "cu128"), [0, 1, 2, 3])])
def test_what_has_no_gpu_is_left_out_where_others_have_one_and_no_cpu_build_is_asked_for(
    backends: tuple[str, ...], left: list[int] | None
) -> None:
    whole = fleet(machine("sm_80"), MAC, INTEL, machine("sm_90"), IDLE, HIDDEN, counts=(1, 1, 1, 1, 1, 3))

    found = several.gpu_fleet(whole, Wish(backends=backends))

    assert found.machines == (whole.machines if left is None else tuple(whole.machines[place] for place in left))
    assert [(out.code, out.hosts.count) for out in found.idle] == ([] if left is None else [("NO_GPU_LEFT_OUT", 4)])
    assert several.gpu_fleet(fleet(IDLE, INTEL), Wish()) == fleet(IDLE, INTEL)


def test_a_note_of_several_machines_is_given_once_with_their_number() -> None:
    note, drivers = Note("A", "b"), table([]).drivers
    noted = machine("sm_80")._replace(notes=(note,))

    found = several.completed(
        fleet(noted, noted._replace(name="x"), machine("sm_90"), counts=(2, 3, 1))._replace(remarks=((note, 4),)),
        drivers,
    )
    assert found.remarks == ((note, 9),)
    assert [where.notes for where in found.machines] == [(), (), ()]
    alone = several.completed(fleet(noted), drivers)
    assert (alone.machines[0].notes, alone.remarks) == ((note,), ())
    assert several.completed(fleet(noted, counts=(2,)), drivers).remarks == ((note, 2),)


def test_machines_that_differ_in_what_decides_are_judged_apart() -> None:
    free = machine("sm_80")._replace(python=Python("3.12", free_threaded=True))
    old = machine("sm_80", glibc="2.17")
    places = fleet(machine("sm_80"), free, old, machine("sm_80", driver="525.60.13"))
    linux = machine("sm_80", driver="526.98")
    wsl = linux._replace(driver=Driver("526.98", os="windows"))
    assert outlook(fleet(linux, wsl), build()).unserved == ((1, 0),)
    other = linux._replace(gpus=(linux.gpus[0]._replace(index=3),))
    both = several.pick((linux, other), table([build()]), Wish())
    assert [fit.gpu for verdict in both.verdicts for fit in verdict.fits] == [0, 3]
    builds = (
        build(),
        build("2.9.0", "cu126")._replace(pythons=("cp312t",)),
        build("2.8.0", "cu118")._replace(glibc="2.17"),
    )

    assert picked(outlook(places, *builds, most=3)) == [
        ("2.10.0+cu128", ((0, 0), (3, 0))), ("2.9.0+cu126", ((1, 0),)), ("2.8.0+cu118", ((2, 0),)),
    ]  # fmt: skip


def test_of_fewer_environments_those_count_that_support_the_most_machines_then_the_oldest_torch() -> None:
    three = fleet(machine("sm_60"), machine("sm_61"), machine("sm_90"), counts=(3, 3, 5))
    pascal, hopper = build("2.9.0", "cu126", "sm_60 sm_61"), build("2.10.0", "cu126", "sm_90")

    assert picked(outlook(three, pascal, hopper, most=1)) == [("2.9.0+cu126", ((0, 0), (1, 0)))]
    more = fleet(*three.machines, counts=(3, 3, 7))
    assert picked(outlook(more, pascal, hopper, most=1)) == [("2.10.0+cu126", ((2, 0),))]
    assert outlook(more, pascal, hopper, most=1).unserved == ((0, 0), (1, 0))
    # One more than is needed brings a newer torch to some, and is taken for that alone.
    ampere = fleet(machine("sm_61", driver="560.28.03"), machine("sm_90"))
    both = build("2.9.0", "cu126", "sm_61 sm_90")
    # Of one release the newest major of CUDA, of that the lowest minor.
    alike = [build(backend=backend, arches="sm_61 sm_90") for backend in ("cu118", "cu126", "cu128")]
    two = fleet(machine("sm_61"), machine("sm_90", driver="580.95.06"), machine("sm_60"))
    assert [version for version, _ in picked(outlook(two, *alike, pascal))] == ["2.10.0+cu126", "2.9.0+cu126"]
    # More than is needed changes no toolkit.
    assert [picked(outlook(fleet(*two.machines[:2]), *alike, most=most)) for most in (None, 1, 2)] == [
        [("2.10.0+cu128", ((0, 0), (1, 0)))]
    ] * 3
    # Of as many machines the one that gets the oldest torch, then the next.
    four = fleet(*map(machine, ("sm_60", "sm_70", "sm_80", "sm_90")))
    rows = (("2.12.0", "cu126", "sm_60"), ("2.9.0", "cu126", "sm_70 sm_80"), ("2.10.0", "cu126", "sm_60 sm_70"),
            ("2.10.0", "cu128", "sm_80"), ("2.9.0", "cu128", "sm_90"))  # fmt: skip
    assert picked(outlook(four, *(build(*row) for row in rows), most=2)) == [
        ("2.10.0+cu128", ((2, 0),)), ("2.10.0+cu126", ((0, 0), (1, 0))),
    ]  # fmt: skip
    assert picked(outlook(ampere, both, NEW)) == [("2.9.0+cu126", ((0, 0), (1, 0)))]
    assert picked(outlook(ampere, both, NEW, most=2)) == [("2.11.0+cu130", ((1, 0),)), ("2.9.0+cu126", ((0, 0),))]
    assert picked(outlook(ampere, both, most=2)) == [("2.9.0+cu126", ((0, 0), (1, 0)))]


def test_a_group_is_worth_what_its_worst_member_gets() -> None:
    places = fleet(machine("sm_80"), machine("sm_86", "sm_90"))

    (group,) = outlook(places, build(arches="sm_80 compute_80"), NEW._replace(arches=()), most=1).plan

    assert group.verdict.rank.worst_fit == Fit.JIT
    assert [(fit.machine, fit.gpu, fit.fit) for fit in group.verdict.fits] == [
        (0, 0, Fit.EXACT),
        (1, 0, Fit.BINARY),
        (1, 1, Fit.JIT),
    ]


def test_what_limits_changed_is_said_by_the_answer_without_them() -> None:
    limits = (Limit("torch", "<2.11", "limits.txt line 1"), Limit("torch", "<3", "limits.txt line 2"))

    found = outlook(fleet(machine("sm_80")), OLD, NEW, wish=Wish(limits=limits))

    text = "bound by torch<2.11 in limits.txt line 1; without that it would be torch 2.11.0+cu130"
    assert found.notes == (Note("CONSTRAINED", text),)
    assert picked(found)[0][0] == "2.9.0+cu126"
    assert not outlook(fleet(machine("sm_80")), OLD, NEW).notes


def test_a_newer_driver_is_named_where_it_supports_the_gpu_and_gains_a_newer_torch() -> None:
    kepler = machine("sm_37", "sm_61", driver="450.80.02")
    ampere = machine("sm_80", driver="570.26")
    idle = machine(driver="550.54.15")  # which no newer driver gains anything
    by_cuda = machine("sm_80")._replace(driver=Driver(None, "12.4"))  # no number, so none to move from
    machines = machine("sm_61", driver="560.28.03"), ampere, machine("sm_90"), kepler, idle, by_cuda
    places = fleet(*machines, counts=(1, 2, 1, 1, 1, 1))
    builds = (OLD, NEW, build("2.8.0", "cu118", "sm_37", "8.7.0"))

    rows = outlook(places, *builds, upgrades=True).upgrades

    assert rows is not None
    seen = [(row[:2], row[2].count, [(before, after, who.count) for before, after, who in row[3]]) for row in rows]
    assert seen == [
        (("560.28.03", "580"), 1, [("2.9.0", "2.11.0", 1)]),
        (("570.26", "580"), 2, [("2.9.0", "2.11.0", 2)]),
        (("560.28.03 to 570.26", "580"), 3, [("2.9.0", "2.11.0", 3)]),
    ]
    assert outlook(places, *builds).upgrades is None
    assert outlook(places, *builds).unserved == ((3, 1), (4, None))


def test_a_group_costs_time_in_line_with_its_machines() -> None:
    def ask(count: int) -> None:
        places = fleet(*[machine("sm_80")] * count)
        assert [group.hosts.count for group in outlook(places, build(), upgrades=True).groups] == [count]

    in_line(ask, (500, 4000), floor=0.02)


def test_a_machine_of_two_gpus_gets_the_older_torch_of_theirs() -> None:
    rows = ("2.9.0", "cu126", "sm_60"), ("2.10.0", "cu126", "sm_90"), ("2.11.0", "cu130", "sm_60")
    one = fleet(machine("sm_60", "sm_90", driver="570.26"))

    upgrades = outlook(one, *(build(*row) for row in rows), upgrades=True).upgrades

    assert [[move[:2] for move in row[3]] for row in upgrades or ()] == [[("2.9.0", "2.10.0")]]


def test_what_was_weighed_for_several_machines_is_that_of_the_one_that_is_worst_off() -> None:
    machines = machine("sm_90"), machine("sm_61"), machine("sm_80")
    builds = (build("2.11.0", "cu130", "sm_80 sm_90"), build("2.10.0", "cu128", "sm_61"), OLD, build("2.8.0", "cu118"))

    found = several.pick(machines, table([*builds]), Wish())

    assert not found.ok
    assert [[each.text for each in verdict.objections] for verdict in found.considered] == [
        ["holds no code for sm_61: it was built for sm_80 sm_90"], *[["another of these machines does not run it"]] * 2,
        ["holds no code for sm_61: it was built for sm_80 sm_90"],
    ]  # fmt: skip
    assert {each.machine for verdict in found.considered for each in verdict.objections} == {1, None}
    assert found.changes == ()
    late = several.pick((machine("sm_80", driver="560.28.03"), machine("sm_90")), table([builds[0]]), Wish())
    assert [change.text for change in late.changes] == ["with driver 580 or newer: torch 2.11.0+cu130"]
    # What the others would not run anyway, no change of one machine brings.
    without = several.pick((machine("sm_80", driver="560.28.03"), machine("sm_61")), table([builds[0]]), Wish())
    assert without.changes == ()


def test_a_row_for_each_gpu_has_the_newest_driver_that_supports_it() -> None:
    gpus = (*machine("sm_37", "sm_90").gpus, Gpu(2, "amd", None, Arch.parse("gfx1100")))
    builds = (build("2.8.0", "cu118", "sm_37 sm_90", "8.7.0"), NEW, build("2.0.0", "cu118", "sm_37"), ROCM)

    kepler, hopper, amd = matrix.rows(machine(driver=None)._replace(gpus=gpus), table([*builds]), Wish(torch=">=2.1"))

    assert [row.driver and row.driver.version for row in (kepler, hopper, amd)] == ["470", "595", None]
    assert [[*row.releases] for row in (kepler, hopper, amd)] == [["2.11.0", "2.8.0"]] * 2 + [["2.10.0"]]
    best = [row.best() for row in (kepler, hopper, amd)]
    assert [one and one.build.torch for one in best] == ["2.8.0", "2.11.0", "2.10.0"]
    assert kepler.best("2.11.0") is None
    assert matrix.newest_patches(["2.10.1", "2.10.0", "2.0.1", "2.0.0", "1.0"]) == ("2.10.1", "2.0.1", "1.0")
    group = Group(((0, 0), (1, None)), best[1] or kepler.verdicts[0])
    assert group_json(group, Wish(), None)["gpus"] == [[0, 0]]
    left = LeftOut(Hosts(("n1",), 1), "A", "b")
    none = Groups(Fleet(()), Wish(), ())
    out = none._replace(fleet=Fleet((), silent=(left,)))
    assert [repr(one) for one in (none, out)] == ["<Groups: none>", "<Groups: none; 2 left out>"]
    assert [one.to_dict()["exit"] for one in (out, outlook(fleet(machine("sm_37")), NEW))] == [0, 3]
