"""GPUs of AMD (the kernel's list of compute nodes, kfd), Intel (by PCI id) and Apple. Untested on hardware.

Written from the kernel's amdkfd, libhsakmt, AMD's documentation.
"""

from __future__ import annotations

import platform as machine_of
import re

from torchpick.environment.world import World
from torchpick.machine import kernel
from torchpick.machine.kernel import KernelFacts, LookOptions, PciGpu, Seen
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, GpuProduct, Note, Platform, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.knowledge.compat import Knowledge
    from torchpick.knowledge.gpunames import OtherNames

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def look(how: LookOptions, platform: Platform, facts: KernelFacts, seen: Seen) -> Seen:
    """What was seen of NVIDIA's, with the GPUs of the others beside it."""
    if platform.os == "macos":
        return look_for_apple(platform)
    seen = seen.beside(look_for_amd(how.world, facts, len(seen.gpus), how.knowledge))
    alone = not any(gpu.vendor == "nvidia" or gpu.counted for gpu in seen.gpus) and seen.trouble is None
    return seen.beside(look_for_intel(facts, len(seen.gpus), how.knowledge, alone=alone))


def look_for_amd(world: World, facts: KernelFacts, first: int, knowledge: Knowledge) -> Seen:
    """The GPUs, numbered from `first`; processor graphics that no build supports do not count."""
    gpus: list[Gpu] = []
    for node in world.names(_NODES):
        text = world.read(f"{_NODES}/{node}/properties")  # None where a scheduler forbids it
        gpu = None if text is None else amd_node(text, first + len(gpus), world.read(f"{_NODES}/{node}/name"))
        if gpu is not None:
            gpus.append(_named(gpu, facts, knowledge.other_names))
    if not gpus and world.system == "win32":
        return _counting(_on_windows(facts, first, knowledge.other_names), None, knowledge)
    if not gpus:
        idle = (Note("AMD_NOT_USABLE", _unusable(pci, knowledge.other_names)) for pci in facts.gpus_of(kernel.AMD))
        return Seen(notes=tuple(idle))
    if not world.exists("/dev/kfd"):
        text = f"{labels(gpus)}: no /dev/kfd here (a container without it?), so ROCm cannot reach them; left out"
        return Seen(tuple(gpu._replace(counted=False) for gpu in gpus), notes=(Note("GPU_NOT_PASSED_IN", text),))
    return _counting(gpus, override_arch(world.environ.get(_OVERRIDE, "")), knowledge)


def _counting(gpus: list[Gpu], override: Arch | None, knowledge: Knowledge) -> Seen:
    """With the architecture that ROCm takes every GPU for (libhsakmt, topology.c), and without idle graphics.

    Nearly every Ryzen has some that no build supports.
    """
    notes = []
    if override is not None:
        gpus = [gpu._replace(arch=override, source=_OVERRIDE) for gpu in gpus]
        notes.append(Note("HSA_OVERRIDE", f"{_OVERRIDE} makes every AMD GPU {override}"))
    idle = [gpu for gpu in gpus if gpu.integrated and gpu.arch and not knowledge.supports_amd(gpu.arch)]
    if idle:
        text = f"{labels(idle)}: processor graphics that no build supports; left out"
        notes.append(Note("INTEGRATED_LEFT_OUT", text))
    return Seen(tuple(gpu._replace(counted=gpu not in idle) for gpu in gpus), notes=tuple(notes))


def _named(gpu: Gpu, facts: KernelFacts, names: OtherNames) -> Gpu:
    """With its product's name: from RDNA3 on the kernel's own says "ip discovery" for each."""
    device = next((pci.device for pci in facts.gpus_of(kernel.AMD) if pci.address == gpu.pci), None)
    product = None if device is None else names.amd_device(device)
    return gpu if product is None else gpu._replace(name=product.name)


def _on_windows(facts: KernelFacts, first: int, names: OtherNames) -> list[Gpu]:
    """The GPUs by their PCI ids: Windows has no list of compute nodes, and AMD's driver there is asked nothing."""
    gpus: list[Gpu] = []
    for pci in facts.gpus_of(kernel.AMD):
        if (product := names.amd_device(pci.device)) is not None:
            gpus.append(_by_pci_id(first + len(gpus), product, pci))
    return gpus


def _by_pci_id(index: int, product: GpuProduct, pci: PciGpu) -> Gpu:
    vendor, name, arch, integrated = product[:4]
    return Gpu(index, vendor, name, arch, pci=pci.address, integrated=integrated, source="pci")


def _unusable(pci: PciGpu, names: OtherNames) -> str:
    """Why a GPU on the PCI bus cannot be reached, and what it is if its id is known."""
    product = names.amd_device(pci.device)
    what = "an AMD GPU" if product is None else f"{product.name} ({product.arch})"
    return f"{what} at {pci.address} has no ROCm compute node (kfd); left out"


def amd_node(properties: str, index: int, name: str | None = None) -> Gpu | None:
    """A node's properties file; None for a processor."""
    values: dict[str, int] = {}
    for line in properties.splitlines()[:500]:
        words = line.split()
        if len(words) == 2 and words[1].isascii() and words[1].isdigit() and len(words[1]) <= 20:
            values[words[0]] = int(words[1])
    arch = gfx(values.get("gfx_target_version", 0))
    if arch is None or values.get("simd_count", 0) == 0:
        return None
    return Gpu(
        index=index,
        vendor="amd",
        name=kernel.product_name(name),
        arch=arch,
        uuid=f"GPU-{values['unique_id']:016x}" if values.get("unique_id") else None,
        pci=_address(values),
        integrated=values.get("cpu_cores_count", 0) > 0,
        source="kfd",
    )


def _address(values: dict[str, int]) -> str | None:
    """`location_id` is bus << 8 | device << 3 | function (kfd_topology.c)."""
    location = values.get("location_id")
    if not location or location > 0xFFFF:
        return None
    return f"{values.get('domain', 0) & 0xFFFFFFFF:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"


def gfx(version: int) -> Arch | None:
    """`gfx_target_version` is decimal, MMmmss; minor and step print as hexadecimal digits: 90010 → gfx90a."""
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    if not 1 <= major <= 99 or minor > 15 or step > 15:
        return None
    return Arch("gfx", 0, 0, f"{major}{minor:x}{step:x}")


def override_arch(text: str) -> Arch | None:
    """`11.0.0` → gfx1100, as rocm_agent_enumerator reads HSA_OVERRIDE_GFX_VERSION."""
    match = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", text)
    return gfx(int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3])) if match else None


def look_for_intel(facts: KernelFacts, first: int, knowledge: Knowledge, *, alone: bool) -> Seen:
    """The supported GPUs, numbered from `first`; they count where no other vendor's GPU is there."""
    gpus: list[Gpu] = []
    for pci in facts.gpus_of(kernel.INTEL):
        product = knowledge.other_names.intel_device(pci.device)
        if product is not None and product.supported:
            gpus.append(_by_pci_id(first + len(gpus), product, pci)._replace(counted=alone))
    if not gpus:
        return Seen()
    if not alone:
        text = f"{gpus[0].name}: the xpu builds support it; they are picked only with `--backend xpu`"
    else:
        text = f"{gpus[0].name}: there is no other GPU, so the xpu build is picked, which needs Intel's driver; "
        text += "`--cpu` picks the cpu build"
    return Seen(tuple(gpus), notes=(Note("INTEL_XPU", text),))


def look_for_apple(platform: Platform) -> Seen:
    """The GPU of Apple silicon, which the plain macOS wheel drives through MPS."""
    if platform.cpu == "arm64":
        return Seen((Gpu(0, "apple", "Apple silicon", None, integrated=True, source="platform"),))
    if "RELEASE_ARM64" in machine_of.uname().version:  # the kernel's own name, whatever runs under Rosetta
        text = "this Python is for Intel and runs under Rosetta; an arm64 Python has newer builds and the GPU"
        return Seen(notes=(Note("ROSETTA", text),))
    return Seen()
