"""Every vendor's GPUs of this computer, NVIDIA's first, and which vendor's count."""

from __future__ import annotations

from torchpick.machine import narrow
from torchpick.machine.seen import LookOptions, Seen
from torchpick.model.machine import Platform


def look(how: LookOptions, platform: Platform) -> Seen:
    """Look for GPUs of every vendor."""
    world, knowledge = how.world, how.knowledge
    if platform.os == "macos":
        from torchpick.machine import apple

        return apple.look(platform)
    from torchpick.machine import kernel, libraries

    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read(world)
    seen = Seen()
    if facts.vfio or facts.wsl_kernel or libraries.worth_asking(facts, world):
        from torchpick.machine import nvidia

        seen = nvidia.look(how, facts)
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
