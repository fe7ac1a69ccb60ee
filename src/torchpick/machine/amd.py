"""AMD GPUs on Linux: the kernel's own list of compute nodes (kfd), which no library is needed to read.

Untested on hardware; written from the kernel's amdkfd, libhsakmt and AMD's documentation.
"""

from __future__ import annotations

import re

from torchpick.environment.world import World
from torchpick.machine import kernel, reading
from torchpick.machine.kernel import KernelFacts
from torchpick.machine.seen import PciGpu, Seen
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.knowledge.compat import Knowledge
    from torchpick.knowledge.othernames import OtherNames

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
WINDOWS_INDEX = "https://repo.amd.com/rocm/whl-multi-arch/"


def look(world: World, facts: KernelFacts, first: int, knowledge: Knowledge) -> Seen:
    """The GPUs, numbered from `first`; processor graphics that no build supports do not count."""
    found, notes = _reached(world, facts, first, knowledge.other_names)
    gpus, idle = _without_idle_graphics(found, knowledge)
    return Seen(tuple(gpus), notes=(*notes, *idle))


def _reached(world: World, facts: KernelFacts, first: int, names: OtherNames) -> tuple[list[Gpu], list[Note]]:
    gpus: list[Gpu] = []
    notes: list[Note] = []
    nodes: list[str] = []
    for node in world.names(_NODES):
        text = world.read(f"{_NODES}/{node}/properties")  # None where a scheduler forbids it
        gpu = None if text is None else parse(text, first + len(gpus), world.read(f"{_NODES}/{node}/name"))
        if gpu is not None:
            gpus.append(gpu)
            nodes.append(node)
    gpus = [_named(gpu, facts, names) for gpu in gpus]
    if gpus and not world.exists("/dev/kfd"):
        text = f"{_count(len(gpus))}: no /dev/kfd here (a container without it?), so ROCm cannot reach them; left out"
        return [gpu._replace(counted=False) for gpu in gpus], [Note("GPU_NOT_PASSED_IN", text)]
    gpus, said = _overridden(gpus, nodes, world)
    notes += said
    reached = {gpu.pci for gpu in gpus}
    for pci in facts.pci:
        if pci.vendor == kernel.AMD and pci.bound != "vfio-pci" and pci.address not in reached and not gpus:
            notes.append(Note("AMD_NOT_USABLE", _unusable(pci, world, names)))
    return gpus, notes


def _without_idle_graphics(gpus: list[Gpu], knowledge: Knowledge) -> tuple[list[Gpu], list[Note]]:
    """Leave out processor graphics that no build supports: nearly every Ryzen has some."""
    able = [gpu for gpu in gpus if gpu.integrated and gpu.counted and gpu.arch is not None]
    idle = [gpu for gpu in able if gpu.arch is not None and not knowledge.supports_amd(gpu.arch)]
    if not idle:
        return gpus, []
    text = f"{', '.join(gpu.label for gpu in idle)}: processor graphics that no build supports; left out"
    kept = [gpu._replace(counted=False) if gpu in idle else gpu for gpu in gpus]
    return kept, [Note("INTEGRATED_LEFT_OUT", text)]


def _named(gpu: Gpu, facts: KernelFacts, names: OtherNames) -> Gpu:
    """With its product's name: from RDNA3 on the kernel's own says "ip discovery" for each."""
    device = next((pci.device for pci in facts.pci if pci.vendor == kernel.AMD and pci.address == gpu.pci), None)
    product = None if device is None else names.amd_device(device)
    return gpu if product is None else gpu._replace(name=product.name)


def _unusable(pci: PciGpu, world: World, names: OtherNames) -> str:
    """Why a GPU on the PCI bus cannot be reached, and what it is if its id is known."""
    product = names.amd_device(pci.device)
    what = "an AMD GPU" if product is None else f"{product.name} ({product.arch})"
    if world.system == "win32":
        return f"{what}: PyTorch publishes no ROCm builds for Windows, but AMD does ({WINDOWS_INDEX}); left out"
    return f"{what} at {pci.address} has no ROCm compute node (kfd); left out"


def _overridden(gpus: list[Gpu], nodes: list[str], world: World) -> tuple[list[Gpu], list[Note]]:
    """HSA_OVERRIDE_GFX_VERSION_<node> wins over the variable without a node (libhsakmt, topology.c)."""
    notes: dict[str, Note] = {}
    changed = []
    for gpu, node in zip(gpus, nodes, strict=True):
        name = next((each for each in (f"{_OVERRIDE}_{node}", _OVERRIDE) if world.environ.get(each)), None)
        value = world.environ[name] if name is not None else ""
        arch = override_arch(value)
        if name is None:
            changed.append(gpu)
        elif arch is None:
            text = f"{name}={value[:20]} is not of the form 11.0.0, so ROCm does not start: correct or unset it"
            notes[name] = Note("HSA_OVERRIDE", text)
            changed.append(gpu)
        else:
            whose = "every AMD GPU" if name == _OVERRIDE else gpu.label
            notes[name] = Note("HSA_OVERRIDE", f"{name}={value[:20]} makes {whose} {arch}")
            changed.append(gpu._replace(arch=arch, source="HSA_OVERRIDE_GFX_VERSION"))
    return changed, list(notes.values())


def parse(properties: str, index: int, name: str | None = None) -> Gpu | None:
    """A node's properties file; None for a processor."""
    told: dict[str, int] = {}
    for line in properties.splitlines()[:500]:
        words = line.split()
        if len(words) == 2 and words[1].isascii() and words[1].isdigit() and len(words[1]) <= 20:
            told[words[0]] = int(words[1])
    arch = gfx(told.get("gfx_target_version", 0))
    if arch is None or told.get("simd_count", 0) == 0:
        return None
    return Gpu(
        index=index,
        vendor="amd",
        name=reading.name(name or ""),
        arch=arch,
        uuid=f"GPU-{told['unique_id']:016x}" if told.get("unique_id") else None,
        pci=_address(told),
        integrated=told.get("cpu_cores_count", 0) > 0,
        source="kfd",
    )


def _address(told: dict[str, int]) -> str | None:
    """`location_id` is bus << 8 | device << 3 | function (kfd_topology.c)."""
    where = told.get("location_id")
    if not where or where > 0xFFFF:
        return None
    return f"{told.get('domain', 0) & 0xFFFFFFFF:04x}:{where >> 8:02x}:{where >> 3 & 31:02x}.{where & 7}"


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


def _count(number: int) -> str:
    return "an AMD GPU" if number == 1 else f"{number} AMD GPUs"


if __name__ == "__main__":
    from torchpick.environment import world
    from torchpick.knowledge.compat import Knowledge

    here = World.here()
    raise SystemExit(world.show(look(here, kernel.read(here), 0, Knowledge(here.environ))))
