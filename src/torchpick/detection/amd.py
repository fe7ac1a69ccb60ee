"""AMD GPUs on Linux: the kernel's own list of compute nodes (kfd), which no library is needed to read."""

from __future__ import annotations

import re

from torchpick.detection import kernel, reading
from torchpick.detection.kernel import Facts
from torchpick.detection.world import World
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Note

_NODES = "/sys/class/kfd/kfd/topology/nodes"


def look(world: World, facts: Facts, first: int) -> tuple[list[Gpu], list[Note]]:
    """The GPUs, numbered from `first`, and what there is to say about them."""
    gpus: list[Gpu] = []
    notes: list[Note] = []
    for name in world.names(_NODES):
        text = world.read(f"{_NODES}/{name}/properties")  # None where a scheduler forbids it
        gpu = None if text is None else parse(text, first + len(gpus), world.read(f"{_NODES}/{name}/name"))
        if gpu is not None:
            gpus.append(gpu)
    if gpus and not world.exists("/dev/kfd"):
        text = f"{_count(len(gpus))}: no /dev/kfd here (a container without it?), so ROCm cannot reach them; left out"
        return [gpu._replace(counted=False) for gpu in gpus], [Note("GPU_NOT_PASSED_IN", text)]
    override = world.environ.get("HSA_OVERRIDE_GFX_VERSION", "")
    if gpus and (arch := override_arch(override)) is not None:
        gpus = [gpu._replace(arch=arch, source="HSA_OVERRIDE_GFX_VERSION") for gpu in gpus]
        notes.append(Note("HSA_OVERRIDE", f"HSA_OVERRIDE_GFX_VERSION={override[:20]} makes every AMD GPU {arch}"))
    known = {gpu.pci for gpu in gpus}
    for pci in facts.pci:
        if pci.vendor == kernel.AMD and pci.bound != "vfio-pci" and pci.address not in known and not gpus:
            text = f"an AMD GPU at {pci.address} has no ROCm compute node (kfd); left out"
            notes.append(Note("AMD_NOT_USABLE", text))
    return gpus, notes


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
    match = re.fullmatch(r"\s*(\d{1,2})\.(\d{1,2})\.(\d{1,2})\s*", text)
    return gfx(int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3])) if match else None


def _count(number: int) -> str:
    return "an AMD GPU" if number == 1 else f"{number} AMD GPUs"


if __name__ == "__main__":
    from torchpick.detection import alone

    here = World.here()
    raise SystemExit(alone.show(look(here, kernel.read(here), 0)))
