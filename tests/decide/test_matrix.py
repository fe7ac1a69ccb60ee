"""Many kinds of GPU judged at once are judged as each would be alone."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws import strategies
from torchpick.decide import buildfit, matrix
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.build import Reason, Verdict
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import Table

LINUX = Platform.parse("linux-x86_64")


@pytest.fixture(scope="module")
def table() -> Table:
    return compat.Knowledge(os.environ).table(["linux-x86_64", "linux-aarch64"])


def seen(verdict: Verdict) -> tuple[object, ...]:
    return verdict.build.version, [each.to_dict() for each in verdict.objections], verdict.fits, verdict.rank


@given(strategies.tables(), st.lists(strategies.devices, min_size=1, max_size=4), strategies.driver_versions)
def test_a_gpu_in_a_crowd_is_judged_as_if_it_were_alone(table: Table, devices: list[Arch], driver: str) -> None:
    gpus = tuple(Gpu(place, "nvidia", None, arch) for place, arch in enumerate(devices))
    machine = Machine(LINUX, Python("3.12"), Driver(driver), gpus)

    crowd = matrix.verdicts(machine, table, Wish())

    for gpu in gpus:
        alone = buildfit.judge(machine._replace(gpus=(gpu,)), table, Wish())
        mine = [each for each in alone if Reason.BACKEND_NOT_ALLOWED not in each.reasons]
        assert [seen(each) for each in crowd[gpu.index]] == [seen(each) for each in mine]
