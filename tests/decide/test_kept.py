"""A torch of the default index stays where it runs and nobody asks for another."""

from __future__ import annotations

import pytest

from tests.laws.strategies import gpu
from torchpick.decide import kept
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.wish import Wish

TABLE = compat.with_builds(compat.rules({}), ("linux-x86_64", "windows-x86_64"), {}, default_index=True)


def machine(arch: str = "sm_86", driver: str = "580.95.05", os: str = "linux") -> Machine:
    return Machine(Platform(os, "x86_64"), Python("3.12"), Driver(driver), (gpu(0, Arch.parse(arch)),))


@pytest.mark.parametrize(
    ("installed", "where", "wish", "companion"),
    [
        ("2.15.0", machine(), Wish(companions={"torchvision": ""}), "0.29.2"),
        ("2.7.1", machine("sm_61"), Wish(torch="<2.8"), "0.22.1"),
        ("2.15.0", machine("sm_61"), Wish(), None),  # no code for the GPU
        ("2.15.0", machine(driver="570.26"), Wish(), None),  # the driver is too old
        ("2.14.1", machine(), Wish(torch=">=2.15"), None),  # another is asked for
        ("2.14.1", machine(), Wish(backends=("cu126",)), None),
        ("2.15.0", machine(), Wish(companions={"torchaudio": ""}), None),  # its CUDA has no such companion
        ("2.14.1+cu126", machine(), Wish(), None),  # of the wheel host
        ("2.14.1", machine(os="windows"), Wish(), None),  # a CPU build beside a GPU
    ],
)
def test_what_runs_stays(installed: str, where: Machine, wish: Wish, companion: str | None) -> None:
    found = kept.from_default_index(installed, where, TABLE, wish)

    assert (found is not None) is (companion is not None)
    if found is not None:
        assert (found.build.version, found.build.backend) == (installed, "default")
        assert found.build.companions["torchvision"] == companion
