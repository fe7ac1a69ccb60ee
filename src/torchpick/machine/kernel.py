"""What is there without any driver call: the PCI bus, /sys, /proc, /dev and NVIDIA's libraries, none of them loaded.

Reads no file that a wedged GPU can block.
"""

from __future__ import annotations

import os

from torchpick.environment.world import World
from torchpick.model import NamedTuple
from torchpick.model.machine import Driver, Gpu, Note, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from torchpick.knowledge.compat import Knowledge


class LookOptions(NamedTuple):
    """How this computer is looked at: what lies there, until when, and by what knowledge.

    `exact_order` also asks libcuda for its order of the GPUs where CUDA_VISIBLE_DEVICES needs it.
    """

    world: World
    deadline: float
    knowledge: Knowledge
    trust_pci: bool = False
    exact_order: bool = False


class PciGpu(NamedTuple):
    """A display-class device; `bound` is the kernel driver that holds it."""

    address: str
    vendor: int
    device: int
    bound: str | None = None


class Seen(NamedTuple):
    """What was found of one vendor or of all; `trouble` says why a GPU that is present does not answer."""

    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None

    def beside(self, other: Seen) -> Seen:
        """With another vendor's GPUs after these."""
        return self._replace(gpus=(*self.gpus, *other.gpus), notes=(*self.notes, *other.notes))


_DRIVER = r"\d{2,4}(?:\.\d{1,4}){1,3}"
_PCI = r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?"


def formed(pattern: str, text: str | None) -> re.Match[str] | None:
    """The match of the whole text, without blanks around it; re is loaded where there is something to match."""
    text = (text or "").strip()
    if not text:
        return None
    import re

    return re.fullmatch(pattern, text, re.ASCII)


def driver_version(text: str | None) -> str | None:
    """`580.95.05`, or None where the text is no driver version."""
    match = formed(_DRIVER, text)
    return match[0] if match else None


def pci_address(text: str | None) -> str | None:
    """A PCI address the way the kernel writes it: NVML's `00000000:01:00.0` → `0000:01:00.0`."""
    match = formed(_PCI, text)
    if match is None:
        return None
    domain, bus, slot, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{slot}.{function or 0}".lower()


def product_name(text: str | None) -> str | None:
    """A GPU's name, or None where it holds what no name holds (drivers 555.85 and 555.99 under WSL2 return garbage)."""
    text = (text or "").strip()
    if not text or not text.isprintable() or "\N{REPLACEMENT CHARACTER}" in text or text.startswith("["):
        return None
    return text[:128]


# cfgmgr32.h: CM_GETIDLIST_FILTER_CLASS | CM_GETIDLIST_FILTER_PRESENT, and the class of display adapters (devguid.h).
_FILTER = 0x00000200 | 0x00000100
_DISPLAY = "{4d36e968-e325-11ce-bfc1-08002be10318}"
_ID = r"PCI\\VEN_([0-9A-Fa-f]{4})&DEV_([0-9A-Fa-f]{4}).*"


def _windows_gpus() -> tuple[PciGpu, ...]:
    """The display adapters that the configuration manager lists; none where it cannot be asked."""
    import ctypes

    try:
        # All platforms that torch has Windows wheels for have one calling convention, so CDLL works.
        manager = ctypes.CDLL("cfgmgr32")
    except OSError:
        return ()
    size = ctypes.c_ulong(0)
    if manager.CM_Get_Device_ID_List_SizeW(ctypes.byref(size), _DISPLAY, _FILTER) != 0 or size.value > 1 << 20:
        return ()
    buffer = ctypes.create_unicode_buffer(size.value)
    if manager.CM_Get_Device_ID_ListW(_DISPLAY, buffer, size, _FILTER) != 0:
        return ()
    return windows_ids(ctypes.wstring_at(buffer, size.value))


def windows_ids(listed: str) -> tuple[PciGpu, ...]:
    r"""Device instance ids between NULs (`PCI\VEN_10DE&DEV_1B06&SUBSYS_…`) as GPUs, addressed by their instance id."""
    return tuple(
        PciGpu(instance[:200], int(match[1], 16), int(match[2], 16))
        for instance in listed.split("\0")[:1000]
        if (match := formed(_ID, instance))
    )


NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
# More GPUs than any one operating system drives; a library that claims more is wrong.
MOST_DEVICES = 64

# Tegra's own GPU has no PCI address and, before Thor, no /dev/nvidia0.
_TEGRA_NODES = ("nvhost-gpu", "nvhost-ctrl-gpu", "nvgpu")
# The loaded module's version; a file read, which wakes no GPU.
VERSION = "/sys/module/nvidia/version"


class KernelFacts(NamedTuple):
    """`version` is the loaded NVIDIA module's, `nodes` the device nodes of GPUs, `tegra` the board, chip, or "tegra".

    `wsl_driver`: Windows mounted an NVIDIA driver. `jetson_cuda` is what the release of Jetson Linux says.
    """

    version: str | None = None
    module: bool = False
    pci: tuple[PciGpu, ...] = ()
    nodes: tuple[str, ...] = ()
    permitted: bool = True
    wsl: bool = False
    wsl_driver: bool = False
    wsl_kernel: bool = False
    container: bool = False
    tegra: str | None = None
    jetson_cuda: str | None = None
    kfd: bool = False

    @property
    def nvidia(self) -> tuple[PciGpu, ...]:
        return self.gpus_of(NVIDIA)

    def gpus_of(self, vendor: int) -> tuple[PciGpu, ...]:
        """A vendor's GPUs on the PCI bus that are this machine's: one given to a virtual machine is not."""
        return tuple(gpu for gpu in self.pci if gpu.vendor == vendor and gpu.bound != "vfio-pci")


def read_kernel(world: World) -> KernelFacts:
    """Everything at once: some twenty small reads."""
    version = driver_version(world.read(VERSION))
    dev = world.names("/dev") if world.system.startswith("linux") else []
    nodes = tuple(name for name in dev if _is_gpu(name))
    paths = [world.path(f"/dev/{name}") for name in dev if name in (*nodes, "nvidiactl")]
    return KernelFacts(
        version=version,
        module=version is not None or world.exists("/sys/module/nvidia"),
        pci=pci_gpus(world),
        nodes=nodes,
        permitted=all(os.access(path, os.R_OK | os.W_OK) for path in paths),
        wsl="dxg" in dev,
        wsl_driver="dxg" in dev and "libcuda.so.1" in world.names("/usr/lib/wsl/lib"),
        wsl_kernel=is_wsl(world),
        container=in_container(world),
        tegra=_tegra(world),
        jetson_cuda=jetson_cuda(world),
        kfd=world.exists("/sys/class/kfd"),
    )


def pci_gpus(world: World) -> tuple[PciGpu, ...]:
    if world.system == "win32":
        return _windows_gpus()
    gpus = []
    for address in world.names("/sys/bus/pci/devices"):
        folder = f"/sys/bus/pci/devices/{address}"
        kind = _hex(world.read(f"{folder}/class"))
        if kind is None or kind >> 16 != 0x03:
            continue
        vendor, device = _hex(world.read(f"{folder}/vendor")), _hex(world.read(f"{folder}/device"))
        if vendor is not None and device is not None:
            gpus.append(PciGpu(address, vendor, device, world.link(f"{folder}/driver")))
    return tuple(gpus)


def _hex(text: str | None) -> int | None:
    digits = (text or "").strip()
    try:
        return int(digits, 16) if digits.startswith("0x") and len(digits) <= 10 else None
    except ValueError:
        return None


def _is_gpu(node: str) -> bool:
    """Whether a name in /dev is a GPU's: nvidia0, nvidia1, … or Tegra's own."""
    number = node.removeprefix("nvidia")
    return node in _TEGRA_NODES or (number != node and number.isascii() and number.isdigit())


def in_container(world: World) -> bool:
    """Whether /proc and /sys may show another system than the one whose devices we have."""
    files = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
    variables = ("container", "KUBERNETES_SERVICE_HOST")
    return any(map(world.exists, files)) or any(map(world.environ.get, variables))


def is_wsl(world: World) -> bool:
    return "microsoft" in (world.read("/proc/sys/kernel/osrelease") or "").lower()


def _tegra(world: World) -> str | None:
    """The Tegra chip, by the marks that NVIDIA's container toolkit looks for and by the device tree."""
    compatible = world.read("/proc/device-tree/compatible") or ""
    chip = compatible.partition("nvidia,tegra")[2][:3]
    if len(chip) == 3 and chip.isascii() and chip.isdigit():
        board = (world.read("/proc/device-tree/model") or "").strip("\0\n").removeprefix("NVIDIA ")
        return board or f"tegra{chip}"
    family = world.read("/sys/devices/soc0/family") or ""
    return "tegra" if family.lower().startswith("tegra") or world.exists(f"/etc/{JETSON_LINUX}") else None


def jetson_cuda(world: World) -> str | None:
    """The CUDA of a Jetson's own driver up to JetPack 6, by its `# R36 (release), REVISION: 4.0, …`."""
    text = world.read(f"/etc/{JETSON_LINUX}") or ""
    return next((cuda for start, cuda in _OF_JETSON_LINUX.items() if text.startswith(start)), None)


# Its drivers are not numbered as others are before R38 (JetPack 7), where /proc/driver/nvidia/version says enough.
JETSON_LINUX = "nv_tegra_release"
_OF_JETSON_LINUX = {
    "# R32 ": "10.2", "# R34 ": "11.4", "# R35 ": "11.4",
    "# R36 (release), REVISION: 2": "12.2", "# R36 (release), REVISION: 3": "12.2", "# R36 ": "12.6",
}  # fmt: skip
# Candidates for the loader, best first.
NVML = "libnvidia-ml.so.1"
CUDA = "libcuda.so.1"

_WSL = "/usr/lib/wsl/lib"
# Beside the loader's own search: distributions that do not list the folder in ld.so.cache (Fedora's and openSUSE's
# nvidia folders, NixOS, JetPack).
_FOLDERS = (
    "/usr/lib64/nvidia",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/run/opengl-driver/lib",
    "/usr/lib/nvidia",
    "/usr/lib",
)


def worth_asking(facts: KernelFacts, world: World) -> bool:
    """Whether anything of NVIDIA is present, or may be: a PCI device, a node, the module, a library, or WSL2."""
    on_bus = any(gpu.vendor == NVIDIA for gpu in facts.pci)
    signs = facts.module or on_bus or facts.nodes or facts.tegra or facts.wsl_kernel
    return bool(signs or candidates(NVML, world) or candidates(CUDA, world))


def candidates(name: str, world: World) -> list[str]:
    """What to hand to the loader, in order; under WSL2 the folder that Windows mounts goes before a package's."""
    if world.system == "win32":
        return _windows_libraries(name, world)

    paths = [f"{folder}/{name}" for folder in (_WSL, *_FOLDERS)]
    existing = [world.path(path) for path in paths if world.exists(path)]
    if world.real and _loader_finds(name, world):
        existing.insert(1 if paths[0] in existing else 0, name)
    return existing


def _loader_finds(name: str, world: World) -> bool:
    """Whether dlopen of the bare name could succeed; the cache is a table of file names, so a byte search does."""
    for folder in world.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        if folder and os.path.exists(f"{folder}/{name}"):
            return True
    return name.encode() in (world.bytes("/etc/ld.so.cache") or b"")


def _windows_libraries(name: str, world: World) -> list[str]:
    file = {NVML: "nvml.dll", CUDA: "nvcuda.dll"}[name]
    root = world.environ.get("SYSTEMROOT") or world.environ.get("WINDIR") or r"C:\Windows"
    programs = world.environ.get("PROGRAMFILES", r"C:\Program Files")
    paths = [f"{root}\\System32\\{file}", f"{programs}\\NVIDIA Corporation\\NVSMI\\{file}"]
    return [path for path in paths if os.path.isfile(path)]
