"""libcuda through ctypes: cuInit and device attributes, never a context.

Only ever called in a child: cuInit forbids CUDA after a fork, and hangs or crashes where the driver is wedged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchpick.machine import nvml, reading
from torchpick.machine.reading import MOST_DEVICES, Device, DriverReading, failed

if TYPE_CHECKING:
    from ctypes import CDLL

# CUresult (cuda.h); cuGetErrorString would be one more call into the library.
_WORDS = {
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    999: "unknown error",
    802: "system not yet initialized",
    803: "system has unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on non supported HW",
}
_STUB = 34  # CUDA_ERROR_STUB_LIBRARY
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def read(libraries: Sequence[str]) -> DriverReading:
    """Ask libcuda about every GPU, in CUDA's own order, whatever CUDA_VISIBLE_DEVICES says."""
    import ctypes

    if not libraries:
        return failed("cuda", "absent", "no libcuda")
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_GPUS"):
        os.environ.pop(variable, None)
    reasons = []
    for path in libraries:
        try:
            return _read(ctypes.CDLL(path))
        except OSError as error:  # the next candidate is the point
            reasons.append(str(error))
    return failed("cuda", "absent", f"libcuda does not load: {'; '.join(reasons)}")


def _read(library: CDLL) -> DriverReading:
    import ctypes

    initialise = getattr(library, "cuInit", None)
    if initialise is None:
        return failed("cuda", "unusable", "libcuda has no cuInit")
    status = initialise(0)
    if status == _STUB:
        return failed("cuda", "stub", "libcuda is the toolkit's stub", status)
    if status != 0:
        return failed("cuda", "refused", f"cuInit says: {_WORDS.get(status, 'error')} ({status})", status)
    version = ctypes.c_int(-1)
    spoken = _ok(library, "cuDriverGetVersion", ctypes.byref(version))
    count = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGetCount", ctypes.byref(count)) or count.value < 0:
        return failed("cuda", "refused", "libcuda does not report its number of devices")
    devices = [_device(library, ordinal) for ordinal in range(min(count.value, MOST_DEVICES))]
    return DriverReading(
        "cuda",
        cuda=reading.cuda_version(version.value) if spoken else None,
        devices=tuple(device for device in devices if device is not None),
        libcuda=nvml.loaded_libcuda(),
    )


def _device(library: CDLL, ordinal: int) -> Device | None:
    import ctypes

    device = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGet", ctypes.byref(device), ordinal):
        return None
    pair = [ctypes.c_int(-1), ctypes.c_int(-1)]
    for value, attribute in zip(pair, (_MAJOR, _MINOR), strict=True):
        _ok(library, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
    raw_uuid = (ctypes.c_ubyte * 16)()
    known = _ok(library, "cuDeviceGetUuid_v2", ctypes.byref(raw_uuid), device) or _ok(
        library, "cuDeviceGetUuid", ctypes.byref(raw_uuid), device
    )
    # One byte more than the library is given, so that a text without its end still ends.
    name, bus = ctypes.create_string_buffer(257), ctypes.create_string_buffer(65)
    return Device(
        name=reading.name(name.value) if _ok(library, "cuDeviceGetName", name, 256, device) else None,
        capability=reading.capability(pair[0].value, pair[1].value),
        uuid=_uuid(bytes(raw_uuid)) if known else None,
        pci=reading.pci(bus.value) if _ok(library, "cuDeviceGetPCIBusId", bus, 64, device) else None,
    )


def _ok(library: CDLL, name: str, *arguments: object) -> bool:
    function = getattr(library, name, None)
    return function is not None and function(*arguments) == 0


def _uuid(raw: bytes) -> str | None:
    """The sixteen bytes as NVML prints them."""
    if not any(raw):
        return None
    text = raw.hex()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


if __name__ == "__main__":
    from torchpick.environment import world
    from torchpick.environment.world import World
    from torchpick.machine import libraries

    raise SystemExit(world.show(read(libraries.candidates(libraries.CUDA, World.here()))))
