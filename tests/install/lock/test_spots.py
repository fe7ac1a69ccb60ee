"""The machines of a lock: which torch runs on all of them, and the oldest system of a build."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.install.test_agreement import agreement, facts
from tests.installers.test_commands import PICK, job
from torchpick import api
from torchpick.errors import NoBuildError
from torchpick.install.lock import spots
from torchpick.install.lock.resolution import Aim
from torchpick.install.lock.spots import Spot
from torchpick.installers.jobs import Job
from torchpick.installers.needs import Learnt
from torchpick.model.lock import LockEnvironment
from torchpick.model.machine import Machine, Platform
from torchpick.model.verdict import Objection, Reason, Verdict


@pytest.mark.parametrize(
    ("tags", "oldest"),
    [
        (("macosx_14_0_arm64",), "14.0"),
        (("manylinux_2_28_x86_64", "macosx_11_3_x86_64"), "11.3"),
        (("manylinux_2_28_x86_64",), None),
        (("xmacosx_14_0_arm64",), None),
        ((), None),
    ],
)
def test_the_oldest_macos_stands_in_a_builds_tag(tags: tuple[str, ...], oldest: str | None) -> None:
    assert spots.macos_of(PICK.build._replace(tags=tags)) == oldest


def test_a_torch_for_all_runs_on_each_platform() -> None:
    windows = Platform.parse("windows-x86_64")
    here = PICK.considered[0]
    runs = here._replace(objections=(), build=here.build._replace(version="1.0"))
    fails = runs._replace(objections=(Objection(Reason.YANKED),), build=here.build._replace(version="2.0"))
    there = runs._replace(build=runs.build._replace(platform=windows.name))
    both = (PICK.machine, PICK.machine._replace(platform=windows))

    def common(*verdicts: Verdict, machines: tuple[Machine, ...] = both) -> set[str]:
        return {*spots._common(PICK._replace(machines=machines, considered=verdicts))}

    assert common(runs, fails, there) == {"1.0"}
    assert common(runs) == set()
    assert common(runs, fails, machines=both[:1]) == {"1.0"}


def test_of_torchs_family_only_the_very_version_that_was_judged_is_held() -> None:
    judged = agreement(facts("torchao", v2="12"), "torchao")

    def left(version: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        held = {"torch": "2.14.1", "torchao": version}
        made = spots._judged_only(job(held=held, related={"torchao": version}), judged)
        return made.held, made.related

    assert left("2.0") == ({"torch": "2.14.1", "torchao": "2.0"}, {"torchao": "2.0"})
    assert left("3.0") == ({"torch": "2.14.1"}, {})


def test_one_machine_has_its_own_verdict() -> None:
    fleet = api.pick(gpus=["sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")
    pick = PICK._replace(machines=(PICK.machine, fleet.machine), verdicts=(PICK.verdicts[0], fleet.verdicts[0]))

    alone = spots._alone(pick, 1)

    assert (alone.machines, alone.verdicts) == ((fleet.machine,), (fleet.verdicts[0],))


class Rounds(spots._Rounds):
    """Rounds in which each machine is judged by a script: the torch it takes, and the versions it finds."""

    def __init__(self, places: list[Spot], script: dict[Spot, list[tuple[str, str]]]) -> None:
        self.spots, self.script, self.asked = places, script, ""
        self.aims = [(spot.place, spot.aim) for spot in places]
        self.pick = self.everything = PICK
        self.picks = {PICK.version: PICK}
        self.learnt, self.jobs = {}, {}

    def _judged(self, spot: Spot) -> Job:
        self.asked += f"{spot.place}{'' if spot.aim.environment in self.learnt else '!'} "
        turns = self.script[spot]
        torch, found = turns.pop(0) if len(turns) > 1 else turns[0]
        self.picks[torch] = self.picks.get(torch, PICK._replace(verdicts=(verdict(torch),)))
        self.learnt[spot.aim.environment] = Learnt(versions={"a": found})
        return job(pick=self.picks[torch], held={"torch": torch, f"a{spot.place}": found}, added=(found,))


def verdict(torch: str) -> Verdict:
    first = PICK.verdicts[0]
    return first._replace(build=first.build._replace(version=torch))


ONE, OTHER = (Aim(LockEnvironment(name, "3.12")) for name in ("linux-x86_64", "windows-x86_64"))
HERE = PICK.version


def test_each_machine_is_judged_once_where_they_agree() -> None:
    rounds = Rounds([Spot(0, ONE), Spot(1, OTHER)], {Spot(0, ONE): [(HERE, "1")], Spot(1, OTHER): [(HERE, "2")]})

    agreed = rounds.agreed()

    assert rounds.asked == "0! 1! "
    assert agreed.pick is PICK
    assert agreed.added == ("1", "2")
    assert agreed.held == {
        ONE.environment: {"torch": HERE, "a0": "1"}, OTHER.environment: {"torch": HERE, "a1": "2"},
    }  # fmt: skip


def test_a_machine_that_moves_torch_has_the_others_judged_anew() -> None:
    places = [Spot(0, ONE), Spot(1, OTHER), Spot(2, ONE)]
    rounds = Rounds(places, {
        places[0]: [(HERE, "1"), ("0.9", "1")], places[1]: [("0.9", "2")], places[2]: [("0.9", "1")],
    })  # fmt: skip

    agreed = rounds.agreed()

    assert rounds.asked == "0! 1! 0! 2 "
    assert agreed.pick.version == "0.9"


def test_a_machine_that_moves_a_package_has_those_of_its_environment_judged_anew() -> None:
    places = [Spot(0, ONE), Spot(1, OTHER), Spot(2, ONE)]
    rounds = Rounds(places, {
        places[0]: [(HERE, "1"), (HERE, "0")], places[1]: [(HERE, "2")], places[2]: [(HERE, "0")],
    })  # fmt: skip

    rounds.agreed()

    assert rounds.asked == "0! 1! 2 0 "


def test_machines_that_never_agree_are_not_judged_for_ever() -> None:
    places = [Spot(0, ONE), Spot(1, ONE)]
    rounds = Rounds(places, {places[0]: [(HERE, str(n)) for n in range(0, 99, 2)], places[1]: [(HERE, "x")]})

    with pytest.raises(NoBuildError, match="the machines agree on no versions"):
        rounds.agreed()
