"""Intel GPUs: those that the XPU builds support, by PCI id; a UHD is only a display. Untested on hardware."""

from __future__ import annotations

from torchpick.environment.world import World
from torchpick.machine import kernel
from torchpick.machine.kernel import KernelFacts
from torchpick.machine.seen import Seen
from torchpick.model.machine import Gpu, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.knowledge.compat import Knowledge


def look(facts: KernelFacts, first: int, knowledge: Knowledge, *, alone: bool = False) -> Seen:
    """The supported GPUs, numbered from `first`; they count where no other vendor's GPU is there."""
    devices = [pci for pci in facts.pci if pci.vendor == kernel.INTEL and pci.bound != "vfio-pci"]
    if not devices:
        return Seen()
    known = knowledge.other_names
    gpus: list[Gpu] = []
    for pci in devices:
        named = known.intel_device(pci.device)
        if named is None or not named.supported:
            continue
        gpus.append(
            Gpu(
                index=first + len(gpus),
                vendor="intel",
                name=named.name,
                arch=None,
                pci=pci.address,
                integrated=named.integrated,
                counted=alone,
                source="pci",
            )
        )
    if not gpus:
        return Seen()
    if not alone:
        text = f"{gpus[0].name}: the xpu builds support it; they are picked only with `--backend xpu`"
    else:
        text = f"{gpus[0].name}: there is no other GPU, so the xpu build is picked, which needs Intel's driver; "
        text += "`--cpu` picks the cpu build"
    return Seen(tuple(gpus), notes=(Note("INTEL_XPU", text),))


if __name__ == "__main__":
    import os

    from torchpick.environment import world
    from torchpick.knowledge.compat import Knowledge

    raise SystemExit(world.show(look(kernel.read(World.here()), 0, Knowledge(os.environ), alone=True)))
