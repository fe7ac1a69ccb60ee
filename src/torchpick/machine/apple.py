"""Apple silicon. Untested on hardware; written from Apple's documentation of sysctl."""

from __future__ import annotations

import sys

from torchpick.machine.seen import Seen
from torchpick.model.machine import Gpu, Note, Platform
from torchpick.model.versions import is_dotted


def look(platform: Platform) -> Seen:
    """The GPU of Apple silicon, which the plain macOS wheel drives through MPS."""
    if platform.os != "macos":
        return Seen()
    if platform.cpu == "arm64":
        gpu = Gpu(0, "apple", _brand() or "Apple silicon", None, integrated=True, source="platform")
        return Seen((gpu,))
    if _sysctl_number("sysctl.proc_translated") == 1:
        text = "this Python is for Intel and runs under Rosetta; an arm64 Python has newer builds and the GPU"
        return Seen(notes=(Note("ROSETTA", text),))
    return Seen()


def version() -> str | None:
    """This Mac's system version (`14.2`) from the kernel; None where it is not known."""
    raw = _sysctl(b"kern.osproductversion", 64)
    text = raw.split(b"\0", 1)[0].decode("ascii", "replace") if raw else ""
    return text if is_dotted(text) else None


def _brand() -> str | None:
    raw = _sysctl(b"machdep.cpu.brand_string", 128)
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace") if raw else None


def _sysctl_number(name: str) -> int | None:
    raw = _sysctl(name.encode(), 4)
    return int.from_bytes(raw, sys.byteorder) if raw and len(raw) == 4 else None


def _sysctl(name: bytes, size: int) -> bytes | None:
    """sysctlbyname(3); None where the name is unknown, or this is no Mac."""
    import ctypes

    call = getattr(ctypes.CDLL(None), "sysctlbyname", None)
    if call is None:
        return None
    buffer = ctypes.create_string_buffer(size)
    length = ctypes.c_size_t(size)
    if call(name, buffer, ctypes.byref(length), None, ctypes.c_size_t(0)) != 0:
        return None
    return buffer.raw[: length.value]


if __name__ == "__main__":
    from torchpick.environment import interpreter, world
    from torchpick.environment.world import World

    raise SystemExit(world.show(look(interpreter.own(World.here()).platform)))
