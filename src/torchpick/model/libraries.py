"""Libraries inside a wheel that support fewer GPUs than torch's own code."""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers


class Floor(Noun):
    """From this version on, the library needs at least this capability; `cuda_major` None holds for any."""

    since: str
    floor: tuple[int, int]
    cuda_major: int | None = None


class LibraryFloors(Noun):
    """cuDNN is part of nearly every model, so its floor is an objection; NCCL matters to several GPUs at once only."""

    cudnn: tuple[Floor, ...] = ()
    nccl: tuple[Floor, ...] = ()

    def cudnn_floor(self, version: str) -> tuple[int, int]:
        return _floor(self.cudnn, version, None)

    def nccl_floor(self, version: str, cuda: str) -> tuple[int, int]:
        return _floor(self.nccl, version, int(cuda.split(".")[0]))


def _floor(rows: tuple[Floor, ...], version: str, cuda_major: int | None) -> tuple[int, int]:
    release = numbers(version)
    holding = [row for row in rows if numbers(row.since) <= release and row.cuda_major in (None, cuda_major)]
    return max(holding, key=lambda row: numbers(row.since)).floor if holding else (0, 0)


def below(gpu: Arch, floor: tuple[int, int]) -> bool:
    return gpu.kind == "sm" and gpu.capability < floor
