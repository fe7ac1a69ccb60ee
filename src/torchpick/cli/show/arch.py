"""Architectures to compile for, as PyTorch's build, nvcc and CMake want them."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.model.arch import Arch
from torchpick.model.generations import CompileTarget


def torch(targets: Iterable[CompileTarget]) -> str:
    """TORCH_CUDA_ARCH_LIST: `6.1;8.6+PTX`."""
    return ";".join(f"{each.arch.major}.{each.arch.minor}{'+PTX' if each.ptx else ''}" for each in targets)


def nvcc(targets: Iterable[CompileTarget]) -> str:
    """`-gencode` options."""
    found = []
    for each in targets:
        number = f"{each.arch.major}{each.arch.minor}"
        found.append(f"-gencode arch=compute_{number},code=sm_{number}")
        if each.ptx:
            found.append(f"-gencode arch=compute_{number},code=compute_{number}")
    return " ".join(found)


def cmake(targets: Iterable[CompileTarget]) -> str:
    """CMAKE_CUDA_ARCHITECTURES: `61-real;86`, where the bare number is machine code and PTX."""
    return ";".join(f"{each.arch.major}{each.arch.minor}{'' if each.ptx else '-real'}" for each in targets)


def amd(arches: Iterable[Arch]) -> str:
    """PYTORCH_ROCM_ARCH and CMAKE_HIP_ARCHITECTURES: `gfx90a;gfx1100`."""
    return ";".join(dict.fromkeys(map(str, arches)))
