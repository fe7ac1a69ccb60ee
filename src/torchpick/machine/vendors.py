"""Every vendor's GPUs of this computer, NVIDIA's first, and which vendor's count."""

from __future__ import annotations

from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import narrow
from torchpick.model.machine import Driver, Gpu, Note, Platform, Trouble
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Seen(Noun):
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
    knowledge: Knowledge,
    trust_pci: bool = False,
    exact_order: bool = False,
    waiting: Callable[[str], None] | None = None,
) -> Seen:
    """Look for GPUs of every vendor."""
    if platform.os == "macos":
        from torchpick.machine import apple

        macs, said = apple.look(platform)
        return Seen(tuple(macs), None, tuple(said))
    from torchpick.machine import kernel, libraries

    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read(world)
    seen = Seen()
    if facts.vfio or facts.wsl_kernel or libraries.worth_asking(facts, world):
        from torchpick.machine import nvidia

        found = nvidia.look(
            world,
            deadline,
            facts,
            knowledge=knowledge,
            trust_pci=trust_pci,
            exact_order=exact_order,
            waiting=waiting,
        )
        seen = Seen(*found)
    gpus, notes = list(seen.gpus), list(seen.notes)
    if world.exists("/sys/class/kfd") or any(pci.vendor == kernel.AMD for pci in facts.pci):
        from torchpick.machine import amd

        more, said = amd.look(world, facts, len(gpus), knowledge)
        more, idle = _without_idle_graphics(more, knowledge)
        said += idle
        gpus += more
        notes += said
    if any(pci.vendor == kernel.INTEL for pci in facts.pci):
        from torchpick.machine import intel

        alone = not any(gpu.vendor == "nvidia" or gpu.counted for gpu in gpus) and seen.trouble is None
        more, said = intel.look(facts, len(gpus), knowledge, alone=alone)
        gpus += more
        notes += said
    trouble = seen.trouble
    others = [str(gpu.index) for gpu in gpus if gpu.counted and gpu.vendor != "nvidia"]
    if trouble is not None and others:
        trouble = trouble._replace(hint=f"{trouble.hint}, or `--only {','.join(others)}` for the other GPU")
    counted, left_out = narrow.one_vendor(gpus)
    return Seen(counted, seen.driver, (*notes, *left_out), trouble)


def _without_idle_graphics(gpus: list[Gpu], knowledge: Knowledge) -> tuple[list[Gpu], list[Note]]:
    """Leave out processor graphics that no build supports: nearly every Ryzen has some."""
    able = [gpu for gpu in gpus if gpu.integrated and gpu.counted and gpu.arch is not None]
    idle = [gpu for gpu in able if gpu.arch is not None and not knowledge.supports_amd(gpu.arch)]
    if not idle:
        return gpus, []
    text = f"{', '.join(gpu.label for gpu in idle)}: processor graphics that no build supports; left out"
    kept = [gpu._replace(counted=False) if gpu in idle else gpu for gpu in gpus]
    return kept, [Note("INTEGRATED_LEFT_OUT", text)]
