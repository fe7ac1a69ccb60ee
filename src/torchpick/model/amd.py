"""What matters for AMD GPUs beyond the targets of a build: rocBLAS, overrides, AMD's own indexes."""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers


class RocblasGap(Noun):
    """Targets that rocBLAS lacks in ROCm `since` and later; `before` is the first release that has them again."""

    since: str
    before: str | None
    lacks: tuple[Arch, ...]

    def covers(self, rocm: str) -> bool:
        release = numbers(rocm)
        return numbers(self.since) <= release and (self.before is None or release < numbers(self.before))


class GfxOverride(Noun):
    """`HSA_OVERRIDE_GFX_VERSION=version` on these targets; `works` is false where it is never proposed."""

    targets: tuple[Arch, ...]
    version: str
    works: bool
    why: str

    @property
    def stands_for(self) -> Arch:
        """The target that the GPU then claims to be."""
        major, minor, step = numbers(self.version)
        return Arch("gfx", 0, 0, f"{major}{minor:x}{step:x}")


class AmdIndex(Noun):
    """An index of AMD's own, for platforms and targets that the wheel host lacks."""

    url: str
    platforms: tuple[str, ...]
    targets: tuple[Arch, ...]


class AmdRules(Noun):
    gaps: tuple[RocblasGap, ...] = ()
    overrides: tuple[GfxOverride, ...] = ()
    indexes: tuple[AmdIndex, ...] = ()

    def rocblas_lacks(self, backend: str, gpu: Arch) -> bool:
        """Whether rocBLAS of this backend's ROCm has no code for the GPU: then the first matrix product fails."""
        rocm = backend.removeprefix("rocm")
        return any(gpu in gap.lacks and gap.covers(rocm) for gap in self.gaps)

    def override(self, gpu: Arch) -> GfxOverride | None:
        return next((each for each in self.overrides if gpu in each.targets), None)

    def index_for(self, platform: str, gpu: Arch) -> AmdIndex | None:
        """AMD's index that has builds for this GPU on this platform."""
        return next((each for each in self.indexes if platform in each.platforms and gpu in each.targets), None)
