"""The platform and the Python that torchpick itself runs on; no process, no driver."""

from __future__ import annotations

import os
import sys

from torchpick.model.machine import Platform, Python

_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_CPUS = {"amd64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}


def this_platform() -> Platform:
    """The platform by the contract's names; another system or processor keeps its own name."""
    system = _SYSTEMS.get(sys.platform, sys.platform)
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    cpu = _CPUS.get(machine.lower(), machine.lower())
    if system == "linux":
        glibc = _glibc()
        return Platform(system, "aarch64" if cpu == "arm64" else cpu, glibc, "glibc" if glibc else "musl")
    return Platform(system, "arm64" if cpu == "aarch64" else cpu)


def _glibc() -> str | None:
    """From the C library itself; None under musl, which has no such name."""
    try:
        words = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (AttributeError, OSError, ValueError):
        return None
    return words[1] if len(words) == 2 and words[0] == "glibc" else None


def this_python() -> Python:
    """The interpreter that is running now."""
    return Python(
        version=f"{sys.version_info[0]}.{sys.version_info[1]}",
        implementation={"cpython": "cp", "pypy": "pp"}.get(sys.implementation.name, sys.implementation.name),
        free_threaded="t" in getattr(sys, "abiflags", ""),
        executable=sys.executable or None,
        source="the interpreter torchpick runs in",
    )
