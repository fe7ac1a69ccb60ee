"""NVML through `pynvml`, and libcuda through ctypes: cuInit and device attributes, never a context.

Only ever imported in a child: both segfault, hang, abort and print in the wild, and cuInit forbids CUDA after a fork.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any
from uuid import UUID

from torchpick.environment.world import text_of
from torchpick.machine.kernel import MOST_DEVICES

# What a child writes, as the libraries gave it; whoever reads it believes nothing.
Reading = dict[str, object]

# What a usable binding must have; foreign modules named pynvml are found in the wild.
_MOST_MAPS = 16 << 20  # a torch that is loaded has a few hundred lines
_NEEDED = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlSystemGetDriverVersion")


class _RefusedError(Exception):
    """A call that failed."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code


def _failed(kind: str, text: str, code: int | None = None) -> Reading:
    return {"failure": {"kind": kind, "text": text, "code": code}}


def read(source: str, libraries: Sequence[str]) -> bytes:
    """A line of JSON: what NVML or libcuda says; some bindings hand over bytes."""
    reading = (read_nvml if source == "nvml" else read_cuda)(libraries)
    return json.dumps(reading, default=lambda raw: raw.split(b"\0", 1)[0].decode("utf-8", "replace")).encode() + b"\n"


def read_nvml(libraries: Sequence[str]) -> Reading:
    """Ask NVML, loading it from the first of the candidates that loads."""
    try:
        _loaded(libraries)
    except OSError as error:
        return _failed("absent", f"the NVML library does not load: {error}")
    try:
        binding = _binding()
    except ImportError as error:
        return _failed("unusable", f"no usable pynvml: {error}")
    try:
        _call(binding.nvmlInit)
        return _facts(binding)
    except _RefusedError as error:
        return _failed("refused", f"NVML says: {error}", error.code)


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
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".", os.getcwd())]
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


def _call(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  # whatever the binding returns
    """One call; whatever goes wrong is _RefusedError (bindings raise UnicodeDecodeError, AttributeError and more)."""
    try:
        return function(*arguments)
    except Exception as error:
        code = getattr(error, "value", None)
        if isinstance(code, int):
            raise _RefusedError(code, f"{error} ({code})") from error
        raise _RefusedError(None, type(error).__name__) from error


def _facts(binding: ModuleType) -> Reading:
    def maybe(name: str, *arguments: object) -> Any:  # noqa: ANN401
        try:
            return _call(getattr(binding, name), *arguments)
        except (AttributeError, _RefusedError):
            return None

    count = _call(binding.nvmlDeviceGetCount)
    if not isinstance(count, int) or count < 0:
        raise _RefusedError(None, f"a count of {count!r}")
    devices: list[Reading] = []
    for index in range(min(count, MOST_DEVICES)):
        device = _device(binding, maybe, index)
        if count > MOST_DEVICES and "error" in device:
            break  # the count was nonsense; the first handle that fails is the end
        devices.append(device)
    return {
        "driver": maybe("nvmlSystemGetDriverVersion"),
        # _v2 is what libcuda itself says, and 12 without one (a container with utilities only); _v1 then still knows.
        "cuda": maybe("nvmlSystemGetCudaDriverVersion_v2") or maybe("nvmlSystemGetCudaDriverVersion"),
        "devices": devices,
        "libcuda": loaded_libcuda(),
    }


def _device(binding: ModuleType, maybe: Callable[..., Any], index: int) -> Reading:
    try:
        handle = _call(binding.nvmlDeviceGetHandleByIndex, index)
    except _RefusedError as error:
        return {"error": error.code or 999}
    capability = None
    try:
        capability = _call(binding.nvmlDeviceGetCudaComputeCapability, handle)
    except (AttributeError, _RefusedError) as error:
        if getattr(error, "code", None) == 15:  # lost after its handle was given
            return {"error": 15}
    return {
        "name": maybe("nvmlDeviceGetName", handle),
        "capability": capability,
        "uuid": maybe("nvmlDeviceGetUUID", handle),
        "pci": getattr(maybe("nvmlDeviceGetPciInfo", handle), "busId", None),
    }


def loaded_libcuda() -> str | None:
    """The version in the name of the libcuda that NVML loaded; another than the driver's means cuda-compat."""
    maps = text_of("/proc/self/maps", _MOST_MAPS)
    return match[1] if (match := re.search(r"/libcuda\.so\.(\d{3}\.[\d.]+)\s*$", maps, re.MULTILINE)) else None


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


def read_cuda(libraries: Sequence[str]) -> Reading:
    """Ask libcuda about every GPU, in CUDA's own order, whatever CUDA_VISIBLE_DEVICES says."""
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_GPUS"):
        os.environ.pop(variable, None)
    try:
        return _cuda_facts(_loaded(libraries))
    except OSError as error:
        return _failed("absent", f"libcuda does not load: {error}")


def _cuda_facts(library: ctypes.CDLL) -> Reading:
    initialise = getattr(library, "cuInit", None)
    if initialise is None:
        return _failed("unusable", "libcuda has no cuInit")
    status = initialise(0)
    if status == _STUB:
        return _failed("stub", "libcuda is the toolkit's stub", status)
    if status != 0:
        return _failed("refused", f"cuInit says: {_CUDA_WORDS.get(status, 'error')} ({status})", status)
    version = ctypes.c_int(-1)
    spoken = _ok(library, "cuDriverGetVersion", ctypes.byref(version))
    count = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGetCount", ctypes.byref(count)) or count.value < 0:
        return _failed("refused", "libcuda does not report its number of devices")
    devices = [_cuda_device(library, ordinal) for ordinal in range(min(count.value, MOST_DEVICES))]
    return {
        "cuda": version.value if spoken else None,
        "devices": [device for device in devices if device is not None],
        "libcuda": loaded_libcuda(),
    }


def _cuda_device(library: ctypes.CDLL, ordinal: int) -> Reading | None:
    device = ctypes.c_int(-1)
    if not _ok(library, "cuDeviceGet", ctypes.byref(device), ordinal):
        return None
    pair = [ctypes.c_int(-1), ctypes.c_int(-1)]
    for value, attribute in zip(pair, (_MAJOR, _MINOR), strict=True):
        _ok(library, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
    raw_uuid = (ctypes.c_ubyte * 16)()
    has_uuid = _ok(library, "cuDeviceGetUuid", ctypes.byref(raw_uuid), device)  # _v2 gives an instance's (MIG)
    # One byte more than the library is given, so that a text without its end still ends.
    name, bus = ctypes.create_string_buffer(257), ctypes.create_string_buffer(65)
    return {
        "name": name.value if _ok(library, "cuDeviceGetName", name, 256, device) else None,
        "capability": [value.value for value in pair],
        "uuid": f"GPU-{UUID(bytes=bytes(raw_uuid))}" if has_uuid and any(raw_uuid) else None,
        "pci": bus.value if _ok(library, "cuDeviceGetPCIBusId", bus, 64, device) else None,
    }


def _ok(library: ctypes.CDLL, name: str, *arguments: object) -> bool:
    function = getattr(library, name, None)
    return function is not None and function(*arguments) == 0
