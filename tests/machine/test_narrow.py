"""Which GPUs count, beside what a whole detection shows."""

from __future__ import annotations

import pytest

from torchpick.errors import UsageError
from torchpick.machine import computer as computers
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine, Platform, Python

ORIN = Gpu(0, "nvidia", None, Arch.parse("sm_87"), integrated=True)
CARD = Gpu(1, "nvidia", None, Arch.parse("sm_86"))
RADEON = Gpu(2, "amd", None, Arch.parse("gfx1100"))


def counted(*gpus: Gpu) -> list[int]:
    return [gpu.index for gpu in computers.one_vendor(gpus)[0] if gpu.counted]


def test_a_told_integrated_gpu_of_the_counted_vendor_counts() -> None:
    assert counted(ORIN, CARD, RADEON) == [0, 1]


def test_a_found_integrated_gpu_is_left_out_beside_a_card() -> None:
    assert counted(ORIN._replace(source="nvml"), CARD._replace(source="nvml")) == [1]


@pytest.mark.parametrize(("gpus", "words"), [((CARD._replace(index=0),), "has GPU 0"), ((), "has no GPU")])
def test_an_index_that_is_not_there_is_told_with_those_that_are(gpus: tuple[Gpu, ...], words: str) -> None:
    machine = Machine(Platform("linux", "x86_64"), Python("3.12"), gpus=gpus)

    with pytest.raises(UsageError, match=words):
        computers.narrowed(machine, [7])


def test_the_graphics_of_an_amd_processor_are_left_out_beside_a_card_also_where_they_were_told() -> None:
    ryzen = Gpu(3, "amd", None, Arch.parse("gfx1036"), integrated=True)

    assert counted(RADEON, ryzen) == [2]
    assert counted(ryzen) == [3]
