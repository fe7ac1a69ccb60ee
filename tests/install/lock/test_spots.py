"""The machines of a lock: which torch runs on all of them, and the oldest system of a build."""

from __future__ import annotations

import pytest

from tests.installers.test_commands import PICK
from torchpick import api
from torchpick.install.lock import spots
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


def test_one_machine_has_its_own_verdict() -> None:
    fleet = api.pick(gpus=["sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")
    pick = PICK._replace(machines=(PICK.machine, fleet.machine), verdicts=(PICK.verdicts[0], fleet.verdicts[0]))

    alone = spots._alone(pick, 1)

    assert (alone.machines, alone.verdicts) == ((fleet.machine,), (fleet.verdicts[0],))
