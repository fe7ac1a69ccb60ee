"""What the variables of this shell do to a program that uses CUDA: which files they put first, what they hide."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "TORCH_CUDA_ARCH_LIST",
    "CUDA_HOME",
)
# The libraries of CUDA and what NVIDIA ships beside it, by soname.
CUDA_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|cufft\w*|cupti|curand|cusolver\w*|cusparse\w*|cufile\w*|nccl|nvrtc\S*"
    r"|nvJitLink|nvToolsExt|nvshmem\w*|caffe2_nvrtc)\.so(?:\.[0-9]+)+"
)
_MOST_FOLDERS = 200
_MOST_NAMES = 20_000


class Shell(NamedTuple):
    """What this shell does to a program: the variables that matter, and the CUDA files of LD_LIBRARY_PATH by folder.

    `driver_library` is another libcuda than the driver's: its folder, its version, whether it is a stub or cuda-compat.
    """

    variables: Mapping[str, str] = {}
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    driver_library: tuple[str, str | None, bool] | None = None


def read_shell(environ: Mapping[str, str]) -> Shell:
    """The variables, and the CUDA files that LD_LIBRARY_PATH leads to. Elsewhere than on Linux there are none."""
    variables = {name: environ[name] for name in VARIABLES if name in environ}
    folders: list[tuple[str, tuple[str, ...]]] = []
    driver = None
    # An empty entry is the current folder (ld.so(8)).
    for entry in environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")[:_MOST_FOLDERS]:
        if not entry:
            continue
        names = _cuda_names(entry)
        if names:
            folders.append((entry, names))
        if "libcuda.so.1" in names and driver is None:
            driver = _driver_library(entry)
            if driver is None:
                break  # the driver's own: nothing behind it is loaded as libcuda
    return Shell(variables, tuple(folders), driver)


def _cuda_names(folder: str) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(_MOST_NAMES), entries, strict=False)]
    except OSError:
        return ()
    return tuple(sorted(name for name in names if CUDA_LIBRARY.fullmatch(name)))


def _driver_library(folder: str) -> tuple[str, str | None, bool] | None:
    """What a libcuda.so.1 is, by the folder and the file it leads to; None for the driver's own."""
    real = os.path.realpath(os.path.join(folder, "libcuda.so.1"))
    parts = {*folder.split("/"), *os.path.dirname(real).split("/")}
    if "stubs" in parts:
        return folder, None, True
    if any(part == "compat" or part.startswith("cuda-compat") for part in parts):
        version = os.path.basename(real).removeprefix("libcuda.so.")
        return folder, version if "." in version else None, False
    return None
