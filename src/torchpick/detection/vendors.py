"""Every vendor's GPUs of this computer, NVIDIA's first, and which vendor's count."""

from __future__ import annotations

from collections.abc import Callable

from torchpick.detection import narrow
from torchpick.detection.world import World
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Note, Platform, Trouble
from torchpick.model.noun import Noun


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
    pci_capability: Callable[[int], Arch | None] | None = None,
    last_branch: Callable[[Arch], int | None] | None = None,
    serves_amd: Callable[[Arch], bool] | None = None,
    trust_pci: bool = False,
    exact_order: bool = False,
    waiting: Callable[[str], None] | None = None,
) -> Seen:
    """Look for GPUs; `serves_amd` tells which processor graphics any build serves (all, where it is not given)."""
    if platform.os == "macos":
        from torchpick.detection import apple

        macs, said = apple.look(platform)
        return Seen(tuple(macs), None, tuple(said))
    from torchpick.detection import kernel, libraries

    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read(world)
    seen = Seen()
    if facts.wsl_kernel or libraries.worth_asking(facts, world):
        from torchpick.detection import nvidia

        found = nvidia.look(
            world,
            deadline,
            facts,
            tables=nvidia.tables(pci_capability, last_branch),
            trust_pci=trust_pci,
            exact_order=exact_order,
            waiting=waiting,
        )
        seen = Seen(*found)
    gpus, notes = list(seen.gpus), list(seen.notes)
    if world.exists("/sys/class/kfd") or any(pci.vendor == kernel.AMD for pci in facts.pci):
        from torchpick.detection import amd

        more, said = amd.look(world, facts, len(gpus))
        if serves_amd is not None:
            more, idle = _without_idle_graphics(more, serves_amd)
            said += idle
        gpus += more
        notes += said
    if any(pci.vendor == kernel.INTEL for pci in facts.pci):
        from torchpick.detection import intel

        more, said = intel.look(facts, len(gpus))
        gpus += more
        notes += said
    trouble = seen.trouble
    others = [str(gpu.index) for gpu in gpus if gpu.counted and gpu.vendor != "nvidia"]
    if trouble is not None and others:
        trouble = trouble._replace(hint=f"{trouble.hint}, or `--only {','.join(others)}` for the other GPU")
    counted, left_out = narrow.one_vendor(gpus)
    return Seen(counted, seen.driver, (*notes, *left_out), trouble)


def _without_idle_graphics(gpus: list[Gpu], serves: Callable[[Arch], bool]) -> tuple[list[Gpu], list[Note]]:
    """Leave out processor graphics that no build serves: nearly every Ryzen has some, and none of its owners asked."""
    idle = [gpu for gpu in gpus if gpu.integrated and gpu.counted and gpu.arch is not None and not serves(gpu.arch)]
    if not idle:
        return gpus, []
    text = f"{', '.join(gpu.label for gpu in idle)}: processor graphics that no build serves; left out"
    kept = [gpu._replace(counted=False) if gpu in idle else gpu for gpu in gpus]
    return kept, [Note("INTEGRATED_LEFT_OUT", text)]
