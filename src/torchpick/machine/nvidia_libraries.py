"""Where NVIDIA's libraries and tools are: candidates to try, best first. Nothing is loaded or run here."""

from __future__ import annotations

import os

from torchpick.environment.world import World
from torchpick.machine.kernel import KernelFacts

NVML = "libnvidia-ml.so.1"
CUDA = "libcuda.so.1"
SMI = "nvidia-smi"

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
    """Whether anything of NVIDIA is present: a PCI device, a node, the module, a library or nvidia-smi."""
    return bool(
        facts.module
        or facts.nvidia
        or facts.nodes
        or facts.tegra
        or candidates(NVML, world)
        or candidates(CUDA, world)
        or tools(world)
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


def tools(world: World) -> list[str]:
    """Where nvidia-smi is, as an absolute path; relative entries of PATH (the current folder) are not looked at."""
    if world.system == "win32":
        return [path for path in _windows_folders(world, "nvidia-smi.exe") if _is_file(path)]
    fixed = [f"{_WSL}/{SMI}", f"/usr/bin/{SMI}"] if world.exists("/dev/dxg") else [f"/usr/bin/{SMI}", f"{_WSL}/{SMI}"]
    found = [world.path(path) for path in fixed]
    if world.real:
        found += [f"{folder.rstrip('/')}/{SMI}" for folder in _absolute(world.environ.get("PATH", ""))]
    else:
        found += [world.path(f"/usr/local/bin/{SMI}")]
    return [path for path in dict.fromkeys(found) if _is_program(path)]


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
    return [path for path in _windows_folders(world, file) if _is_file(path)]


def _windows_folders(world: World, file: str) -> list[str]:
    root = world.environ.get("SYSTEMROOT") or world.environ.get("WINDIR") or r"C:\Windows"
    programs = world.environ.get("PROGRAMFILES", r"C:\Program Files")
    return [f"{root}\\System32\\{file}", f"{programs}\\NVIDIA Corporation\\NVSMI\\{file}"]


def _absolute(path: str) -> list[str]:
    return [folder for folder in path.split(os.pathsep) if folder.startswith("/")]


def _is_program(path: str) -> bool:
    return _is_file(path) and os.access(path, os.X_OK)


def _is_file(path: str) -> bool:
    return os.path.isfile(path)
