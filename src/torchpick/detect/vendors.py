"""Every vendor's GPUs of this computer, NVIDIA's first, and which vendor's count."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torchpick.detect import narrow
from torchpick.detect.world import World
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Note, Platform, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.detect.reasons import Tables


class Seen(NamedTuple):
    """All that was found on this computer."""

    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None


def look(  # noqa: PLR0913  # the facts of one question
    world: World,
    deadline: float,
    platform: Platform,
    *,
    tables: Tables,
    serves_amd: Callable[[Arch], bool] | None = None,
    trust_pci: bool = False,
    exact_order: bool = False,
    waiting: Callable[[str], None] | None = None,
) -> Seen:
    """Look for GPUs; `serves_amd` tells which processor graphics any build serves (all, where it is not given)."""
    if platform.os == "macos":
        from torchpick.detect import apple

        macs, said = apple.look(platform)
        return Seen(tuple(macs), None, tuple(said))
    from torchpick.detect import amd, intel, kernel, nvidia

    facts = kernel.read(world)
    found = nvidia.look(
        world,
        deadline,
        facts,
        tables=tables,
        trust_pci=trust_pci,
        exact_order=exact_order,
        waiting=waiting,
    )
    radeons, amd_notes = amd.look(world, facts, len(found.gpus))
    if serves_amd is not None:
        radeons, more = _without_idle_graphics(radeons, serves_amd)
        amd_notes += more
    arcs, intel_notes = intel.look(facts, len(found.gpus) + len(radeons))
    counted, left_out = narrow.one_vendor((*found.gpus, *radeons, *arcs))
    notes = (*found.notes, *amd_notes, *intel_notes, *left_out)
    return Seen(counted, found.driver, notes, found.trouble)


def _without_idle_graphics(gpus: list[Gpu], serves: Callable[[Arch], bool]) -> tuple[list[Gpu], list[Note]]:
    """Leave out processor graphics that no build serves: nearly every Ryzen has some, and none of its owners asked."""
    idle = [gpu for gpu in gpus if gpu.integrated and gpu.counted and gpu.arch is not None and not serves(gpu.arch)]
    if not idle:
        return gpus, []
    text = f"{', '.join(gpu.label for gpu in idle)}: processor graphics that no build serves; left out"
    kept = [gpu._replace(counted=False) if gpu in idle else gpu for gpu in gpus]
    return kept, [Note("INTEGRATED_LEFT_OUT", text)]
