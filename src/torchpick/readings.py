"""What the reader of wheels finds in an environment, as the facts that doctor judges. Here those two edges meet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from torchpick.doctor import environment as installed
from torchpick.doctor.facts import (
    NOT,
    NVIDIA,
    PARTLY,
    RUNS,
    Absent,
    Companion,
    Distribution,
    Environment,
    Override,
    Package,
    Served,
    Shell,
)
from torchpick.doctor.shell import CUDA_LIBRARY
from torchpick.errors import WheelError
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu
from torchpick.model.noun import Noun
from torchpick.wheels import inplace, judge, reading
from torchpick.wheels.judge import Judge
from torchpick.wheels.library import Library, union

# Copies of NVIDIA's libraries inside other packages: their modules are chosen among, so counting them says nothing.
_VENDORED = re.compile(
    r"(?:lib)?(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cufile|cupti|nccl|nvrtc|nvJitLink"
    r"|nvjpeg|nvToolsExt|npp|nvshmem|nvonnxparser|nvinfer)[\w.+-]*\.(?:so[\w.]*|dll)",
    re.IGNORECASE,
)
# Of torch: NVSHMEM's kernels are for symmetric memory between data-centre GPUs; a GPU without them loses nothing else.
_TORCH_CODE = re.compile(r"(?:lib)?torch_(?:cuda|hip)[\w]*\.(?:so|dll)")
_PYTHON_LIBRARIES = ("lib/libtorch_python.so", "lib/torch_python.dll")
# What torch cannot be imported without.
_NEEDED = ("__init__.py", "version.py")
_MOST_TEXT = 1 << 20
_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_SYSTEM = ("/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/lib64", "/usr/lib", "/lib64", "/lib")
_LOADER_CACHE = "/etc/ld.so.cache"
_MOST_CACHE = 16 << 20


class TorchFiles(NamedTuple if False else Noun):  # type: ignore[misc]
    """What the files of a torch say of it."""

    folder: str
    version: str
    cuda: str | None
    hip: str | None
    arches: tuple[Arch, ...] | None
    missing: tuple[str, ...]
