"""What else decides for AMD, Intel and Apple, apart from the code in a build. Pure."""

from __future__ import annotations

from torchpick.model.build import Build
from torchpick.model.machine import Gpu, Machine, Note
from torchpick.model.pick import Pick
from torchpick.model.request import Wish
from torchpick.model.table import GfxOverride, MpsFloor, Table
from torchpick.model.verdict import Objection, Reason
from torchpick.model.versions import numbers, release_key

# The last release for Intel Macs (pytorch/pytorch#114602); its Pythons are those of the table.
LAST_FOR_INTEL = "2.2.2"
# Where PyTorch publishes XPU builds.
XPU_PLATFORMS = ("linux-x86_64", "windows-x86_64")


# From this ROCm on its libraries are packages beside torch (pytorch#191688): several GB, and the one that selects them,
# `rocm`, is built from its source package on the machine itself.
_LIBRARIES_APART = (7, 14)


def self_contained(build: Build) -> bool:
    """Whether a ROCm build brings its ROCm libraries inside the wheel; true for every other build."""
    return build.family != "rocm" or numbers(build.backend[4:]) < _LIBRARIES_APART


def apart(build: Build) -> list[Note]:
    """What a user should know about a build whose ROCm is installed separately."""
    if self_contained(build):
        return []
    text = "its ROCm libraries are separate packages of several GB, and installing it builds `rocm` from source"
    return [Note("ROCM_APART", text)]


def counts_for_xpu(machine: Machine) -> bool:
    """Whether an Intel GPU that the XPU builds support is the only one that counts here."""
    intel = any(gpu.counted and gpu.vendor == "intel" for gpu in machine.gpus)
    return intel and machine.platform.name in XPU_PLATFORMS


def rocblas(build: Build, gpu: Gpu, table: Table) -> list[Objection]:
    """RocBLAS is part of every matrix product, so a target that it dropped is an objection, like cuDNN's floor."""
    if gpu.arch is None or gpu.arch.kind != "gfx" or build.family != "rocm" or gpu.arch not in (build.arches or ()):
        return []
    if not table.amd.rocblas_lacks(build.backend, gpu.arch):
        return []
    facts = {"library": f"rocBLAS of ROCm {build.backend[4:]}", "floor": "other targets", "gpu": gpu.label}
    return [Objection(Reason.LIBRARY_DROPPED_GPU, facts, gpu.index)]


def installs_from(build: Build) -> str | None:
    """The oldest macOS that a wheel of the build names in its tag: `macosx_11_0_arm64` → 11.0."""
    versions = []
    for tag in build.tags:
        parts = tag.split("_")
        if parts[0] == "macosx" and len(parts) > 2 and parts[1].isdigit() and parts[2].isdigit():
            versions.append(f"{parts[1]}.{parts[2]}")
    return min(versions, key=numbers, default=None)


def mps_from(build: Build, floors: tuple[MpsFloor, ...]) -> str | None:
    """The oldest macOS on which this release reaches the GPU; None where it never does, or nothing is known."""
    release = release_key(build.torch)
    holding = [floor for floor in floors if release_key(floor.since) <= release]
    return max(holding, key=lambda floor: release_key(floor.since)).macos if holding else None


def macos(build: Build, machine: Machine, table: Table, wish: Wish) -> list[Objection]:
    """Whether the wheel installs on this macOS, and whether torch then reaches the GPU."""
    version = machine.platform.macos
    if version is None or machine.platform.os != "macos":
        return []
    oldest = installs_from(build)
    if oldest is not None and numbers(version) < numbers(oldest):
        text = f"macOS {version}: it needs {oldest} or newer"
        return [Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": text})]
    apple = any(gpu.vendor == "apple" and gpu.counted for gpu in machine.gpus)
    if not apple or wish.allow_cpu or "cpu" in wish.backends:
        return []
    reaches = mps_from(build, table.mps)
    if reaches is not None and numbers(version) >= numbers(reaches):
        return []
    needs = "it has no mps device" if reaches is None else f"its mps device needs macOS {reaches}"
    return [
        Objection(
            Reason.BACKEND_NOT_ALLOWED, {"why": f"{needs}, so the GPU would not be used; `--allow-cpu` allows it"}
        )
    ]


def idle_mac(machine: Machine, build: Build, table: Table) -> Note | None:
    """That this release does not reach the GPU on this macOS, where both are known."""
    reaches = mps_from(build, table.mps)
    version = machine.platform.macos
    if version is None or machine.platform.os != "macos" or (reaches and numbers(version) >= numbers(reaches)):
        return None
    return Note(
        "NO_GPU_FOUND",
        f"the GPU is not used: torch {build.torch} needs macOS {reaches or '—'} or newer for it, this is {version}",
    )


def hints(pick: Pick, table: Table) -> list[str]:
    """Alternatives for these GPUs: AMD's own index, an override, another macOS."""
    alternatives = []
    machine = pick.machine
    for gpu in machine.counted:
        if gpu.vendor != "amd" or gpu.arch is None:
            continue
        override = table.amd.override(gpu.arch)
        if override is not None and override.works and machine.platform.name == "linux-x86_64":
            alternatives.append(_override(override, gpu))
        index = table.amd.index_for(machine.platform.name, gpu.arch)
        if index is not None:
            alternatives.append(
                f'AMD\'s own index has builds: pip install --index-url {index.url} "torch[device-{gpu.arch}]"'
            )
    if machine.platform.name == "macos-x86_64":
        alternatives.append(f"torch {LAST_FOR_INTEL} was the last release for Intel Macs")
    return list(dict.fromkeys(alternatives))


def _override(override: GfxOverride, gpu: Gpu) -> str:
    target = override.stands_for
    return (
        f"some users run builds for {target} on {gpu.arch} with HSA_OVERRIDE_GFX_VERSION={override.version} "
        f"({override.why}); `--gpu {target}` picks such a build"
    )
