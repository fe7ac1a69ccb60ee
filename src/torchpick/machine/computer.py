"""This computer, or a specified one, as a Machine: a specified fact replaces the detected one; and which GPUs count."""

from __future__ import annotations

import os
import time

from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.machine import given, kernel
from torchpick.machine.kernel import KernelFacts, LookOptions, PciGpu, Seen
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, GpuProduct, Machine, Note, Platform, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchpick.knowledge.compat import Knowledge
    from torchpick.knowledge.gpunames import OtherNames


def detect(
    facts: given.MachineOverrides,
    *,
    knowledge: Knowledge,
    world: World | None = None,
    look_for_gpus: Callable[[LookOptions, Platform], Seen] | None = None,
) -> Machine:
    """The machine; what is specified is not probed. Its `trouble` is set where a GPU is present and does not answer."""
    world = world or World.here()
    deadline = time.monotonic() + facts.timeout
    if facts.gpus is not None:
        machine = given.make_machine(facts, facts.gpus, world)
    else:
        bare = given.without_gpus(facts, world, deadline)
        how = LookOptions(world, deadline, knowledge, facts.trust_pci, exact_order=facts.visible_only)
        seen = (look_for_gpus or look)(how, bare.platform)
        driver = _merged_driver(seen.driver, facts.driver)
        machine = Machine(bare.platform, bare.python, driver, seen.gpus, seen.notes, seen.trouble)
    if facts.visible_only:
        machine = without_hidden(machine)
    if facts.only:
        machine = only_gpus(machine, facts.only)
    if facts.gpus is None:
        return machine
    gpus, notes = count_one_vendor(machine.gpus)
    return machine._replace(gpus=gpus, notes=(*machine.notes, *notes))


def _merged_driver(detected: Driver | None, specified: Driver | None) -> Driver | None:
    """A specified version also replaces the detected CUDA version, which belongs to the other driver."""
    if specified is None or specified.version is not None:
        return specified or detected
    return (detected or Driver(None))._replace(cuda=specified.cuda, cuda_source=specified.cuda_source)


def look(how: LookOptions, platform: Platform) -> Seen:
    """Look for GPUs of every vendor, NVIDIA's first, and say which vendor's count."""
    # NVIDIA's modules are imported only where there is a sign of it.
    facts = kernel.read_kernel(how.world)
    seen = Seen()
    if kernel.worth_asking(facts, how.world):
        from torchpick.machine import nvidia

        seen = nvidia.look(how, facts)
    if platform.os == "macos":
        seen = look_for_apple(platform)
    elif facts.kfd or any(pci.vendor in (kernel.AMD, kernel.INTEL) for pci in facts.pci):
        seen = seen.beside(look_for_amd(how.world, facts, len(seen.gpus), how.knowledge))
        alone = not any(gpu.counted for gpu in seen.gpus) and seen.trouble is None
        seen = seen.beside(look_for_intel(facts, len(seen.gpus), how.knowledge, alone=alone))
    counted, left_out = count_one_vendor(seen.gpus)
    return seen._replace(gpus=counted, notes=(*seen.notes, *left_out))


def count_one_vendor(gpus: Sequence[Gpu]) -> tuple[tuple[Gpu, ...], tuple[Note, ...]]:
    """Count NVIDIA's GPUs, else the first counted vendor's; integrated ones only if specified or alone."""
    counted = [gpu for gpu in gpus if gpu.counted]
    if not counted:
        return tuple(gpus), ()
    vendor = "nvidia" if any(gpu.vendor == "nvidia" for gpu in counted) else counted[0].vendor
    alike = [gpu for gpu in counted if gpu.vendor == vendor]
    discrete = any(not gpu.integrated for gpu in alike)
    inside = [gpu for gpu in alike if discrete and _is_incidental(gpu)]
    notes = []
    if others := [gpu for gpu in gpus if gpu.vendor != vendor]:
        text = f"{labels(others)}: left out, as a build supports one vendor's GPUs"
        notes.append(Note("OTHER_VENDOR_LEFT_OUT", text))
    if inside:
        notes.append(Note("INTEGRATED_LEFT_OUT", f"{labels(inside)}: left out, as there is a discrete GPU"))
    return tuple(gpu._replace(counted=gpu in alike and gpu not in inside) for gpu in gpus), tuple(notes)


def _is_incidental(gpu: Gpu) -> bool:
    """Whether it is a processor's own GPU that was not asked for.

    A Ryzen's graphics beside a Radeon are listed by every tool, so specifying them means little; `--only` does count.
    """
    return gpu.integrated and (gpu.source != "given" or gpu.vendor == "amd")


def without_hidden(machine: Machine) -> Machine:
    hidden = [gpu for gpu in machine.counted if not gpu.visible]
    # The note that the variable hides some and that all count is no longer true.
    notes = tuple(note for note in machine.notes if note.code != "CUDA_VISIBLE_DEVICES")
    if not hidden:
        return machine._replace(notes=notes)
    text = f"{labels(hidden)}: hidden by CUDA_VISIBLE_DEVICES and left out (--gpus visible)"
    return machine._replace(
        gpus=tuple(gpu._replace(counted=gpu.counted and gpu.visible) for gpu in machine.gpus),
        notes=(*notes, Note("NOT_VISIBLE_LEFT_OUT", text)),
    )


def only_gpus(machine: Machine, only: Sequence[int]) -> Machine:
    """A given index counts, even if its GPU would have been left out as another vendor's."""
    gpus = {gpu.index: gpu for gpu in machine.gpus}
    unknown = [str(index) for index in only if index not in gpus]
    if unknown:
        has = f"has GPU {', '.join(map(str, gpus))}" if gpus else "has no GPU"
        raise UsageError(f"--only {','.join(unknown)}: this machine {has}", hint="run `torchpick detect`")
    vendors = {gpus[index].vendor for index in only}
    if len(vendors) > 1:
        raise UsageError(
            f"--only {','.join(map(str, only))}: GPUs of {' and '.join(sorted(vendors))}, and no build supports both",
            hint="select the GPUs of one vendor",
        )
    notes = machine.notes
    if left := [gpu for gpu in machine.counted if gpu.index not in only]:
        notes = (*notes, Note("ONLY_LEFT_OUT", f"{labels(left)}: left out (--only)"))
    # A vendor's silent driver does not matter if another vendor's GPUs are selected.
    trouble = machine.trouble if "nvidia" in vendors else None
    counted = tuple(gpu._replace(counted=gpu.index in only) for gpu in machine.gpus)
    return machine._replace(gpus=counted, notes=notes, trouble=trouble)


# GPUs of AMD (the kernel's list of compute nodes, kfd), Intel (by PCI id) and Apple; untested on hardware, written from
# the kernel's amdkfd, libhsakmt, AMD's documentation.
_NODES = "/sys/class/kfd/kfd/topology/nodes"
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def look_for_amd(world: World, facts: KernelFacts, first: int, knowledge: Knowledge) -> Seen:
    """The GPUs, numbered from `first`; processor graphics that no build supports do not count."""
    gpus: list[Gpu] = []
    for node in world.names(_NODES):
        text = world.read(f"{_NODES}/{node}/properties")  # None where a scheduler forbids it
        gpu = None if text is None else amd_node(text, first + len(gpus), world.read(f"{_NODES}/{node}/name"))
        if gpu is not None:
            gpus.append(_named(gpu, facts, knowledge.other_names))
    if world.system == "win32":
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
    product = None if device is None else names.device("amd", device)
    return gpu if product is None else gpu._replace(name=product.name)


def _on_windows(facts: KernelFacts, first: int, names: OtherNames) -> list[Gpu]:
    """The GPUs by their PCI ids: Windows has no list of compute nodes, and AMD's driver there is asked nothing."""
    gpus: list[Gpu] = []
    for pci in facts.gpus_of(kernel.AMD):
        if (product := names.device("amd", pci.device)) is not None:
            gpus.append(_by_pci_id(first + len(gpus), product, pci))
    return gpus


def _by_pci_id(index: int, product: GpuProduct, pci: PciGpu) -> Gpu:
    vendor, name, arch, integrated = product[:4]
    return Gpu(index, vendor, name, arch, pci=pci.address, integrated=integrated, source="pci")


def _unusable(pci: PciGpu, names: OtherNames) -> str:
    """Why a GPU on the PCI bus cannot be reached, and what it is if its id is known."""
    product = names.device("amd", pci.device)
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
    match = kernel.formed(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", text)
    return gfx(int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3])) if match else None


def look_for_intel(facts: KernelFacts, first: int, knowledge: Knowledge, *, alone: bool) -> Seen:
    """The supported GPUs, numbered from `first`; they count where no other vendor's GPU is there."""
    gpus: list[Gpu] = []
    for pci in facts.gpus_of(kernel.INTEL):
        product = knowledge.other_names.device("intel", pci.device)
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
    if "RELEASE_ARM64" in os.uname().version:  # the kernel's own name, whatever runs under Rosetta
        text = "this Python is for Intel and runs under Rosetta; an arm64 Python has newer builds and the GPU"
        return Seen(notes=(Note("ROSETTA", text),))
    return Seen()
