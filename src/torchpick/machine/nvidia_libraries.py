"""Where NVIDIA's libraries are: candidates to try, best first. Nothing is loaded here."""

from __future__ import annotations

import os

from torchpick.environment.world import World
from torchpick.machine.kernel import KernelFacts

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
    """Whether anything of NVIDIA is present: a PCI device, a node, the module or a library."""
    return bool(
        facts.module or facts.nvidia or facts.nodes or facts.tegra or candidates(NVML, world) or candidates(CUDA, world)
    )


def candidates(name: str, world: World) -> list[str]:
    """What to hand to the loader, in order; under WSL2 the folder that Windows mounts goes before a package's."""
    if world.system == "win32":
        return _windows(name, world)
    wsl = [f"{_WSL}/{name}"] if world.exists("/dev/dxg") else []
    known = [f"{folder}/{name}" for folder in _FOLDERS]
    if not wsl:
        known.append(f"{_WSL}/{name}")
    found = [world.path(path) for path in wsl if world.exists(path)]
    if world.real and _loader_finds(name, world):
        found.append(name)
    return found + [world.path(path) for path in known if world.exists(path)]


def _loader_finds(name: str, world: World) -> bool:
    """Whether dlopen of the bare name could succeed; the cache is a table of file names, so a byte search does."""
    for folder in world.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        if folder and os.path.exists(f"{folder}/{name}"):
            return True
    return name.encode() in (world.bytes("/etc/ld.so.cache") or b"") or any(
        world.exists(f"{folder}/{name}") for folder in ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
    )


def _windows(name: str, world: World) -> list[str]:
    file = {NVML: "nvml.dll", CUDA: "nvcuda.dll"}[name]
    root = world.environ.get("SYSTEMROOT") or world.environ.get("WINDIR") or r"C:\Windows"
    programs = world.environ.get("PROGRAMFILES", r"C:\Program Files")
    found = [f"{root}\\System32\\{file}", f"{programs}\\NVIDIA Corporation\\NVSMI\\{file}"]
    return [path for path in found if os.path.isfile(path)]
