"""Which CUDA libraries an environment provides: torch's own nvidia wheels, and those a package asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchpick.decide.demands import PackageDemand
from torchpick.model.build import Build

# The names that the toolkits' libraries have per CUDA major (file lists of the nvidia-* wheels; libcufft 11 belongs to
# CUDA 12 and 12 to CUDA 13, libcurand is 10 throughout).
_TOOLKIT = {
    11: ("libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10", "libcurand.so.10",
         "libcusolver.so.11", "libcusparse.so.11", "libnvrtc.so.11.2", "libnccl.so.2", "libcupti.so.11.8"),
    12: ("libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11", "libcurand.so.10",
         "libcusolver.so.11", "libcusparse.so.12", "libnvrtc.so.12", "libnccl.so.2", "libcupti.so.12",
         "libnvJitLink.so.12"),
    13: ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12", "libcurand.so.10",
         "libcusolver.so.12", "libcusparse.so.12", "libnvrtc.so.13", "libnccl.so.2", "libcupti.so.13",
         "libnvJitLink.so.13"),
}  # fmt: skip
# The driver's own, and what a wheel does without where it is not there (onnxruntime's TensorRT provider).
BY_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
# The wheel that brings a library, without its major: `nvidia-cublas-cu12`, and `nvidia-cublas` from CUDA 13 on.
_WHEELS = {
    "libcudart": "cuda-runtime",
    "libcublas": "cublas",
    "libcublasLt": "cublas",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libnvrtc": "cuda-nvrtc",
    "libnccl": "nccl",
    "libcudnn": "cudnn",
    "libnvJitLink": "nvjitlink",
    "libcupti": "cuda-cupti",
}
# These keep the suffix for CUDA 13 too.
_SUFFIXED = ("nccl", "cudnn")
_NVIDIA = re.compile(r"nvidia-(?P<part>[a-z-]+?)(?:-cu(?P<major>\d\d))?")


def by_torch(build: Build) -> frozenset[str]:
    """What a torch build provides, itself or through the nvidia wheels that it pins."""
    if build.cuda_major is None:
        return frozenset()
    found = set(_TOOLKIT.get(build.cuda_major, ()))
    if cudnn := build.libraries.get("cudnn"):
        found.add(f"libcudnn.so.{cudnn.partition('.')[0]}")
    return frozenset(found)


def by_requirements(demands: Iterable[PackageDemand], major: int | None) -> frozenset[str]:
    """What the nvidia wheels among a package's own requirements provide; `major` is that of the package itself."""
    found = set()
    for demand in demands:
        match = _NVIDIA.fullmatch(demand.name)
        if match is None:
            continue
        number = int(match["major"]) if match["major"] else 13
        if match["part"] == "cudnn":
            found.add("libcudnn.so.9")
        stems = {stem for stem, part in _WHEELS.items() if part == match["part"]}
        found |= {name for name in _TOOLKIT.get(number, ()) if name.partition(".so.")[0] in stems}
    if any(demand.name in ("cuda-toolkit", "cuda-pathfinder") for demand in demands) and major is not None:
        found |= set(_TOOLKIT.get(major, ()))
    return frozenset(found)


def wheel_for(library: str, major: int) -> str | None:
    """The nvidia wheel that provides a library of this CUDA major; None if there is none."""
    part = _WHEELS.get(library.partition(".so.")[0])
    if part is None:
        return None
    return f"nvidia-{part}-cu{major}" if major < 13 or part in _SUFFIXED else f"nvidia-{part}"
