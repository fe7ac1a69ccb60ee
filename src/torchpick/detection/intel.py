"""Intel GPUs: those that the XPU builds support, by PCI id; a UHD is a display and no more."""

from __future__ import annotations

from torchpick.detection import kernel
from torchpick.detection.kernel import Facts
from torchpick.detection.world import World
from torchpick.model.machine import Gpu, Note

# The device ids of Xe-HPG and later, as the kernel's include/drm/intel/pciids.h groups them: DG2 (Arc A), Meteor Lake,
# Arrow Lake, Lunar Lake, Battlemage (Arc B), Panther Lake, and Ponte Vecchio (Max). PyTorch's XPU page names the same.
_SERVED = (
    (0x5690, 0x56C2, "Intel Arc A-series"),
    (0x4F80, 0x4F88, "Intel Arc A-series"),
    (0x7D40, 0x7D40, "Intel Arc (Meteor Lake)"),
    (0x7D45, 0x7D45, "Intel Arc (Meteor Lake)"),
    (0x7D55, 0x7D55, "Intel Arc (Meteor Lake)"),
    (0x7D60, 0x7D60, "Intel Arc (Meteor Lake)"),
    (0x7DD5, 0x7DD5, "Intel Arc (Meteor Lake)"),
    (0x7D41, 0x7D41, "Intel Arc (Arrow Lake)"),
    (0x7D51, 0x7D51, "Intel Arc (Arrow Lake)"),
    (0x7D67, 0x7D67, "Intel Arc (Arrow Lake)"),
    (0xB640, 0xB640, "Intel Arc (Arrow Lake)"),
    (0x7DD1, 0x7DD1, "Intel Arc (Arrow Lake)"),
    (0x6420, 0x6420, "Intel Arc (Lunar Lake)"),
    (0x64A0, 0x64A0, "Intel Arc (Lunar Lake)"),
    (0x64B0, 0x64B0, "Intel Arc (Lunar Lake)"),
    (0xE202, 0xE223, "Intel Arc B-series"),
    (0xB080, 0xB0FF, "Intel Arc (Panther Lake)"),
    (0x0BD0, 0x0BDB, "Intel Data Center GPU Max"),
    (0x0B69, 0x0B6E, "Intel Data Center GPU Max"),
)
_DISCRETE = ("A-series", "B-series", "Max")


def look(facts: Facts, first: int) -> tuple[list[Gpu], list[Note]]:
    """The GPUs, numbered from `first`. None of them counts: an XPU build is chosen only where it is asked for."""
    gpus: list[Gpu] = []
    for pci in facts.pci:
        name = served(pci.device) if pci.vendor == kernel.INTEL and pci.bound != "vfio-pci" else None
        if name is not None:
            integrated = not name.endswith(_DISCRETE)
            gpus.append(
                Gpu(
                    index=first + len(gpus),
                    vendor="intel",
                    name=name,
                    arch=None,
                    pci=pci.address,
                    integrated=integrated,
                    counted=False,
                    source="pci",
                )
            )
    if not gpus:
        return [], []
    text = f"{gpus[0].name}: the XPU builds serve it; they are taken only with `--backend xpu`"
    return gpus, [Note("INTEL_XPU", text)]


def served(device: int) -> str | None:
    """What the GPU is called, if the XPU builds support it."""
    return next((name for first, last, name in _SERVED if first <= device <= last), None)


if __name__ == "__main__":
    from torchpick.detection import alone

    raise SystemExit(alone.show(look(kernel.read(World.here()), 0)))
