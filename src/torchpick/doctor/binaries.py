"""What the reader of wheels finds in an environment: the packages with GPU code, and what a library links."""

from __future__ import annotations

import os
from functools import lru_cache

from torchpick.environment import distributions, world
from torchpick.environment.distributions import Distribution, Environment
from torchpick.errors import WheelError
from torchpick.wheels import judging, librarycode, readings
from torchpick.wheels.fatbin import NO_LINKS, Links, read_links
from torchpick.wheels.readings import Reading

# NVIDIA's own projects: cuBLAS chooses among thousands of modules and cuFFT loads by itself, so to count their modules
# says nothing (cuFFT 12.2 looks dead on sm_89 and runs). What they need is in compat/libraries.json and torch's pins.
NVIDIA = "nvidia-"
_OF_TORCH = ("libtorch", "libc10")


def packages(environment: Environment) -> tuple[tuple[Reading, ...], tuple[tuple[str, str], ...]]:
    """Every other package with GPU code of its own, as it is read; and what could not be read."""
    inspected: list[Reading] = []
    faults: list[tuple[str, str]] = []
    for package in environment.named(""):
        if package.name == "torch" or package.name.startswith((NVIDIA, "triton", "pytorch-triton")):
            continue  # triton's own code is a profiler's; it compiles what it runs
        try:
            reading = readings.read_distribution(package, package.name)
        except WheelError as error:
            faults.append((package.label, error.message))
            continue
        if any(
            library.code.total and judging.is_counted(os.path.basename(library.path)) for library in reading.libraries
        ):
            inspected.append(reading)
    return tuple(inspected), tuple(faults)


def version(folder: str, package: str) -> str | None:
    """What a companion's version file says, local label included."""
    return readings.parse_version_file(world.text_of(os.path.join(folder, package, "version.py"))).version


def needs(path: str) -> tuple[str, ...]:
    """The libraries that a library asks the loader for."""
    needed, _, _ = links(path)
    return needed


def links(path: str) -> Links:
    """What a library asks the loader for, and where; nothing where it cannot be read."""
    try:
        file = os.stat(path)
    except OSError:
        return NO_LINKS
    return _needs(path, file.st_ino, file.st_size, file.st_mtime_ns)


@lru_cache(maxsize=4096)
def _needs(path: str, *_file: int) -> Links:
    """Several checks ask of a library; in a notebook another may lie at its path by the next examination."""
    try:
        return librarycode.look_into(path, read_links) or NO_LINKS
    except WheelError:
        return NO_LINKS


def is_of_torch(library: str) -> bool:
    return library.startswith(_OF_TORCH)


def links_torch(package: Distribution) -> bool:
    """Whether a package is compiled against torch: its libraries ask for torch's."""
    paths = (os.path.join(package.folder, path) for path in distributions.libraries(package))
    return any(is_of_torch(name) for path in paths for name in needs(path))


def loaded_libraries(package: Distribution) -> list[str]:
    """The libraries of a package that are loaded; where there is one per CUDA (bitsandbytes), none is asked about."""
    paths = distributions.libraries(package)
    per_cuda = sum("_cuda1" in path for path in paths) > 1
    return [os.path.join(package.folder, path) for path in paths if not (per_cuda and "_cuda1" in path)]
