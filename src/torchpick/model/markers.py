"""Environment markers (PEP 508): whether a requirement's condition holds for a Python and a platform. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.machine import Platform

_SYSTEMS = {
    "linux": ("linux", "Linux", "posix"),
    "windows": ("win32", "Windows", "nt"),
    "macos": ("darwin", "Darwin", "posix"),
}
# Holds nowhere: an override with it keeps uv from installing a package at all.
NEVER = "python_version < '0'"
_IMPLEMENTATIONS = {"cp": ("cpython", "CPython"), "pp": ("pypy", "PyPy")}
# What platform.machine() says on Windows.
_WINDOWS_CPUS = {"x86_64": "AMD64", "arm64": "ARM64"}


def facts(
    version: str, full_version: str | None = None, platform: Platform | None = None, implementation: str = "cp"
) -> Mapping[str, str]:
    """The variables that markers ask for; without a platform, that of this computer holds."""
    full = full_version if full_version is not None and full_version.startswith(f"{version}.") else f"{version}.0"
    name, called = _IMPLEMENTATIONS.get(implementation, (implementation, implementation))
    found = {
        "python_version": version,
        "python_full_version": full,
        "implementation_name": name,
        "platform_python_implementation": called,
        "extra": "",
    }
    if implementation == "cp":
        found["implementation_version"] = full
    if platform is not None:
        system = _SYSTEMS.get(platform.os, (platform.os, platform.os, "posix"))
        found["sys_platform"], found["platform_system"], found["os_name"] = system
        cpus = _WINDOWS_CPUS if platform.os == "windows" else {}
        found["platform_machine"] = cpus.get(platform.cpu, platform.cpu)
    return found


def applies(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether the marker holds; one that is not valid counts as holding, as the installer reports it."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(dict(environment))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, KeyError, ValueError):
        return True
