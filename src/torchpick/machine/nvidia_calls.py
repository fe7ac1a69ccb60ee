"""NVML through `pynvml`, and libcuda through ctypes: cuInit and device attributes, never a context.

Only ever imported in a child: both segfault, hang, abort and print in the wild, and cuInit forbids CUDA after a fork.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from torchpick.machine import driver_reading
from torchpick.machine.driver_reading import MOST_DEVICES, Device, DriverReading, failed

# NVML's words for its statuses (nvml.h, nvmlReturn_t); nvmlErrorString would be one more call into the library.
_NVML_WORDS = {
    3: "not supported",
    4: "insufficient permissions",
    9: "driver not loaded",
    10: "timeout",
    12: "library not found",
    13: "function not found",
    15: "GPU is lost",
    18: "driver/library version mismatch",
    999: "unknown error",
}
_NO_SUCH_FUNCTION = 13
# What a usable binding must have; foreign modules named pynvml are found in the wild.
_NEEDED = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlSystemGetDriverVersion")


class _RefusedError(Exception):
    """A call that failed."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def read_nvml(libraries: Sequence[str]) -> DriverReading:
    """Ask NVML, loading it from the first of the candidates that loads."""
    try:
        _loaded(libraries)
    except OSError as error:
        return failed("nvml", "absent", f"the NVML library does not load: {error}")
    try:
        binding = _binding()
    except ImportError as error:
        return failed("nvml", "unusable", f"no usable pynvml: {error}")
    try:
        _call(binding.nvmlInit)
        return _facts(binding)
    except _RefusedError as error:
        return failed("nvml", "refused", f"NVML says: {error.text}", error.code)


def _loaded(libraries: Sequence[str]) -> ctypes.CDLL:
    """Load the first that loads, by its path; pynvml then finds it by its SONAME, wherever it lies."""
    reasons = []
    for path in libraries:
        try:
            return ctypes.CDLL(path)
        except OSError as error:  # the next candidate is the point
            reasons.append(str(error))
    raise OSError("; ".join(reasons))


def _binding() -> ModuleType:
    warnings.simplefilter("ignore")  # the retired PyPI project `pynvml` warns at every import
    # A file pynvml.py in the current folder is not the binding.
    here = {"", ".", os.getcwd()}
    sys.path[:] = [folder for folder in sys.path if folder not in here]
    _spare_ctypes_util()
    try:
        import pynvml
    except BaseException as error:  # a foreign module may do anything while it is imported
        raise ImportError(f"{type(error).__name__}: {error}") from error
    missing = [name for name in _NEEDED if not callable(getattr(pynvml, name, None))]
    if missing:
        raise ImportError(f"{getattr(pynvml, '__file__', 'pynvml')} lacks {', '.join(missing)}")
    module: ModuleType = pynvml
    return module


def _spare_ctypes_util() -> None:
    """Stand in for ctypes.util, which pynvml imports and never uses: it is 18 of the import's 30 ms (subprocess)."""
    if "ctypes.util" not in sys.modules:
        stand_in = ModuleType("ctypes.util")
        stand_in.find_library = lambda _name: None  # type: ignore[attr-defined]
        sys.modules["ctypes.util"] = stand_in


def _call(function: Callable[..., Any] | None, *arguments: object) -> Any:  # noqa: ANN401  # whatever the binding returns
    """One call; whatever goes wrong is _RefusedError (bindings raise UnicodeDecodeError, AttributeError and more)."""
    if function is None:
        raise _RefusedError(_NO_SUCH_FUNCTION, _words(_NO_SUCH_FUNCTION))
    try:
        return function(*arguments)
    except Exception as error:
        code = getattr(error, "value", None)
        if isinstance(code, int):
            raise _RefusedError(code, _words(code)) from error
        raise _RefusedError(None, type(error).__name__) from error


def _words(code: int) -> str:
    return f"{_NVML_WORDS.get(code, 'error')} ({code})"


def _facts(binding: ModuleType) -> DriverReading:
    def maybe(name: str, *arguments: object) -> Any:  # noqa: ANN401
        try:
            return _call(getattr(binding, name, None), *arguments)
        except _RefusedError:
            return None

    count = _call(binding.nvmlDeviceGetCount)
    if not isinstance(count, int) or count < 0:
        raise _RefusedError(None, f"a count of {count!r}")
    devices: list[Device] = []
    for index in range(min(count, MOST_DEVICES)):
        device = _device(binding, maybe, index)
        if count > MOST_DEVICES and device.error is not None:
            break  # the count was nonsense; the first handle that fails is the end
        devices.append(device)
    return DriverReading(
        "nvml",
        driver=driver_reading.driver_version(maybe("nvmlSystemGetDriverVersion")),
        # _v2 is what libcuda itself says, and 12 without one (a container with utilities only); _v1 then still knows.
        cuda=driver_reading.cuda_version(maybe("nvmlSystemGetCudaDriverVersion_v2"))
        or driver_reading.cuda_version(maybe("nvmlSystemGetCudaDriverVersion")),
        devices=tuple(devices),
        libcuda=loaded_libcuda(),
    )


def _device(binding: ModuleType, maybe: Callable[..., Any], index: int) -> Device:
    try:
        handle = _call(binding.nvmlDeviceGetHandleByIndex, index)
    except _RefusedError as error:
        return Device(error=error.code or 999)
    capability = None
    try:
        pair = _call(getattr(binding, "nvmlDeviceGetCudaComputeCapability", None), handle)
        capability = driver_reading.capability(*pair) if isinstance(pair, tuple | list) and len(pair) == 2 else None
    except _RefusedError as error:
        if error.code == 15:  # lost after its handle was given
            return Device(error=15)
    info = maybe("nvmlDeviceGetPciInfo", handle)
    return Device(
        name=driver_reading.name(maybe("nvmlDeviceGetName", handle)),
        capability=capability,
        uuid=driver_reading.uuid(maybe("nvmlDeviceGetUUID", handle)),
        pci=driver_reading.pci(getattr(info, "busId", None)),
    )


def loaded_libcuda() -> str | None:
    """The version in the name of the libcuda that NVML loaded; another than the driver's means cuda-compat."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                if match := re.search(r"/libcuda\.so\.(\d{3}\.[\d.]+)\s*$", line):
                    return driver_reading.driver_version(match[1])
    except OSError:
        pass
    return None


# CUresult (cuda.h); cuGetErrorString would be one more call into the library.
_CUDA_WORDS = {
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    999: "unknown error",
    802: "system not yet initialized",
    803: "system has unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on non supported HW",
}
_STUB = 34  # CUDA_ERROR_STUB_LIBRARY
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def read_cuda(libraries: Sequence[str]) -> DriverReading:
    """Ask libcuda about every GPU, in CUDA's own order, whatever CUDA_VISIBLE_DEVICES says."""
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_GPUS"):
        os.environ.pop(variable, None)
    try:
        return _cuda_facts(_loaded(libraries))
    except OSError as error:
        return failed("cuda", "absent", f"libcuda does not load: {error}")


def _cuda_facts(library: ctypes.CDLL) -> DriverReading:
    initialise = getattr(library, "cuInit", None)
    if initialise is None:
        return failed("cuda", "unusable", "libcuda has no cuInit")
    status = initialise(0)
    if status == _STUB:
        return failed("cuda", "stub", "libcuda is the toolkit's stub", status)
    if status != 0:
        return failed("cuda", "refused", f"cuInit says: {_CUDA_WORDS.get(status, 'error')} ({status})", status)
    version = ctypes.c_int(-1)
    spoken = _ok(library, "cuDriverGetVersion", ctypes.byref(version))
    count = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGetCount", ctypes.byref(count)) or count.value < 0:
        return failed("cuda", "refused", "libcuda does not report its number of devices")
    devices = [_cuda_device(library, ordinal) for ordinal in range(min(count.value, MOST_DEVICES))]
    return DriverReading(
        "cuda",
        cuda=driver_reading.cuda_version(version.value) if spoken else None,
        devices=tuple(device for device in devices if device is not None),
        libcuda=loaded_libcuda(),
    )


def _cuda_device(library: ctypes.CDLL, ordinal: int) -> Device | None:
    device = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGet", ctypes.byref(device), ordinal):
        return None
    pair = [ctypes.c_int(-1), ctypes.c_int(-1)]
    for value, attribute in zip(pair, (_MAJOR, _MINOR), strict=True):
        _ok(library, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
    raw_uuid = (ctypes.c_ubyte * 16)()
    known = _ok(library, "cuDeviceGetUuid", ctypes.byref(raw_uuid), device)  # _v2 gives an instance's (MIG)
    # One byte more than the library is given, so that a text without its end still ends.
    name, bus = ctypes.create_string_buffer(257), ctypes.create_string_buffer(65)
    return Device(
        name=driver_reading.name(name.value) if _ok(library, "cuDeviceGetName", name, 256, device) else None,
        capability=driver_reading.capability(pair[0].value, pair[1].value),
        uuid=_uuid(bytes(raw_uuid)) if known else None,
        pci=driver_reading.pci(bus.value) if _ok(library, "cuDeviceGetPCIBusId", bus, 64, device) else None,
    )


def _ok(library: ctypes.CDLL, name: str, *arguments: object) -> bool:
    function = getattr(library, name, None)
    return function is not None and function(*arguments) == 0


def _uuid(raw: bytes) -> str | None:
    """The sixteen bytes as NVML prints them."""
    if not any(raw):
        return None
    text = raw.hex()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
