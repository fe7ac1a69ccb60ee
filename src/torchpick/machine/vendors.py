"""Every vendor's GPUs of this computer, NVIDIA's first, and which vendor's count."""

from __future__ import annotations

from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import narrow
from torchpick.machine.seen import Seen
from torchpick.model.machine import Platform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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

        return apple.look(platform)
    from torchpick.machine import kernel, libraries

    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read(world)
    seen = Seen()
    if facts.vfio or facts.wsl_kernel or libraries.worth_asking(facts, world):
        from torchpick.machine import nvidia

        seen = nvidia.look(
            world,
            deadline,
            facts,
            knowledge=knowledge,
            trust_pci=trust_pci,
            exact_order=exact_order,
            waiting=waiting,
        )
    if world.exists("/sys/class/kfd") or any(pci.vendor == kernel.AMD for pci in facts.pci):
        from torchpick.machine import amd

        seen = seen.beside(amd.look(world, facts, len(seen.gpus), knowledge))
    if any(pci.vendor == kernel.INTEL for pci in facts.pci):
        from torchpick.machine import intel

        alone = not any(gpu.vendor == "nvidia" or gpu.counted for gpu in seen.gpus) and seen.trouble is None
        seen = seen.beside(intel.look(facts, len(seen.gpus), knowledge, alone=alone))
    trouble = seen.trouble
    others = [str(gpu.index) for gpu in seen.gpus if gpu.counted and gpu.vendor != "nvidia"]
    if trouble is not None and others:
        trouble = trouble._replace(hint=f"{trouble.hint}, or `--only {','.join(others)}` for the other GPU")
    counted, left_out = narrow.one_vendor(seen.gpus)
    return Seen(counted, seen.driver, (*seen.notes, *left_out), trouble)
