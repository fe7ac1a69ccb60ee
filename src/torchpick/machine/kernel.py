"""What the kernel shows without any driver call: /sys, /proc and /dev. Reads no file that a wedged GPU can block."""

from __future__ import annotations

import os

from torchpick.environment.world import World
from torchpick.machine import reading
from torchpick.machine.reading import Device, DriverReading
from torchpick.machine.seen import PciGpu
from torchpick.model.noun import Noun

NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086

# The version stands between spaces: `… Kernel Module  535.161.07  Sat …`, `… for x86_64  550.144.03  Release Build …`.
_VERSION = r"\s(\d{3,4}\.\d+(?:\.\d+)*)(?=\s|$)"
# Tegra's own GPU has no PCI address and, before Thor, no /dev/nvidia0.
_TEGRA_NODES = ("nvhost-gpu", "nvhost-ctrl-gpu", "nvgpu")
_CONTAINER_GROUPS = ("/docker", "/lxc", "/kubepods", "/containerd")
# Device-tree names and their capability: the Jetson boards' data sheets (TX1, TX2, Xavier, Orin, Thor).
_TEGRA_CAPABILITY = {
    "tegra210": (5, 3),
    "tegra186": (6, 2),
    "tegra194": (7, 2),
    "tegra234": (8, 7),
    "tegra264": (11, 0),
}


class KernelFacts(Noun):
    """`version` is the loaded NVIDIA module's, `nodes` the device nodes of GPUs, `tegra` the chip (or "tegra").

    `wsl_driver`: Windows mounted an NVIDIA driver.
    """

    version: str | None = None
    version_source: str = "/proc"
    module: bool = False
    pci: tuple[PciGpu, ...] = ()
    nodes: tuple[str, ...] = ()
    control: bool = False
    permitted: bool = True
    wsl: bool = False
    wsl_driver: bool = False
    wsl_kernel: bool = False
    container: bool = False
    tegra: str | None = None

    @property
    def nvidia(self) -> tuple[PciGpu, ...]:
        """NVIDIA's GPUs on the PCI bus that are this machine's: one given to a virtual machine is not."""
        return tuple(gpu for gpu in self.pci if gpu.vendor == NVIDIA and gpu.bound != "vfio-pci")

    @property
    def vfio(self) -> tuple[PciGpu, ...]:
        return tuple(gpu for gpu in self.pci if gpu.vendor == NVIDIA and gpu.bound == "vfio-pci")


def read(world: World) -> KernelFacts:
    """Everything at once: some twenty small reads."""
    version, source = _version(world)
    dev = world.names("/dev") if world.system.startswith("linux") else []
    nodes = tuple(name for name in dev if _is_gpu(name))
    control = "nvidiactl" in dev
    release = (world.read("/proc/sys/kernel/osrelease") or "").lower()
    return KernelFacts(
        version=version,
        version_source=source,
        module=version is not None or world.exists("/sys/module/nvidia"),
        pci=pci_gpus(world),
        nodes=nodes,
        control=control,
        permitted=all(_may_open(world, name) for name in (*nodes, *(["nvidiactl"] if control else []))),
        wsl="dxg" in dev,
        wsl_driver="dxg" in dev and "libcuda.so.1" in world.names("/usr/lib/wsl/lib"),
        wsl_kernel="microsoft" in release,
        container=in_container(world),
        tegra=_tegra(world),
    )


def _version(world: World) -> tuple[str | None, str]:
    """The loaded module's version; a file read, which wakes no GPU."""
    for path, find in (
        ("/sys/module/nvidia/version", reading.driver_version),
        ("/proc/driver/nvidia/version", proc_version),
    ):
        text = world.read(path)
        if text is not None and (version := find(text)) is not None:
            return version, path
    return None, "/proc"


def proc_version(text: str) -> str | None:
    """The version in /proc/driver/nvidia/version, of which there are two spellings; on its first line."""
    import re

    match = re.search(_VERSION, text.split("\n", 1)[0])
    return reading.driver_version(match[1]) if match else None


def pci_gpus(world: World) -> tuple[PciGpu, ...]:
    """The display-class devices of the PCI bus."""
    if world.system == "win32":
        from torchpick.machine import windows

        return windows.pci_gpus()
    found = []
    for address in world.names("/sys/bus/pci/devices"):
        folder = f"/sys/bus/pci/devices/{address}"
        kind = _hex(world.read(f"{folder}/class"))
        if kind is None or kind >> 16 != 0x03:
            continue
        vendor, device = _hex(world.read(f"{folder}/vendor")), _hex(world.read(f"{folder}/device"))
        if vendor is not None and device is not None:
            found.append(PciGpu(reading.pci(address) or address, vendor, device, world.link(f"{folder}/driver")))
    return tuple(found)


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


def _may_open(world: World, node: str) -> bool:
    return os.access(world.path(f"/dev/{node}"), os.R_OK | os.W_OK)


def in_container(world: World) -> bool:
    """Whether /proc and /sys may show another system than the one whose devices we have."""
    return (
        world.exists("/.dockerenv")
        or world.exists("/run/.containerenv")
        or world.exists("/run/systemd/container")
        or bool(world.environ.get("container") or world.environ.get("KUBERNETES_SERVICE_HOST"))
        or any(name in (world.read("/proc/1/cgroup") or "") for name in _CONTAINER_GROUPS)
    )


def _tegra(world: World) -> str | None:
    """The Tegra chip, by the marks that NVIDIA's container toolkit looks for and by the device tree."""
    compatible = world.read("/proc/device-tree/compatible") or ""
    chip = compatible.partition("nvidia,tegra")[2][:3]
    if len(chip) == 3 and chip.isascii() and chip.isdigit():
        return f"tegra{chip}"
    family = world.read("/sys/devices/soc0/family") or ""
    marked = family.lower().startswith("tegra") or world.exists("/etc/nv_tegra_release")
    return "tegra" if marked or world.exists("/sys/class/tegra-firmware") else None


def tegra_capability(chip: str) -> tuple[int, int] | None:
    return _TEGRA_CAPABILITY.get(chip)


def read_gpus(root: str) -> DriverReading:
    """The module's own list of GPUs: names and addresses, no capability. For a child: a wedged GPU may block it."""
    world = World(root, {}, "/", "linux")
    folder = "/proc/driver/nvidia/gpus"
    return DriverReading(
        "proc",
        devices=tuple(information(world.read(f"{folder}/{name}/information"), name) for name in world.names(folder)),
    )


def information(text: str | None, folder: str) -> Device:
    """One GPU's `information` file: lines of `Model: NVIDIA …`, `GPU UUID: …`, `Bus Location: …`."""
    told: dict[str, str] = {}
    for line in (text or "").splitlines()[:100]:
        key, _, value = line.partition(":")
        told.setdefault(key.strip(), value.strip())
    name = told.get("Model")
    uuid = told.get("GPU UUID", "")
    return Device(
        name=None if name in (None, "Unknown") else reading.name(name),
        uuid=None if "?" in uuid else reading.uuid(uuid),
        pci=reading.pci(told.get("Bus Location")) or reading.pci(folder),
    )


if __name__ == "__main__":
    from torchpick.environment import world

    raise SystemExit(world.show(read(World.here())))
