"""What a decision knows: builds per platform, driver rules, and what the vendors' own libraries and systems need."""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.drivers import DriverTable
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Read = Callable[[], tuple[Build, ...]]


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


class MpsFloor(Noun):
    """From this release on, torch's mps device needs at least this macOS."""

    since: str
    macos: str


class Shelf:
    """The builds of one platform by release, each release read when it is first asked for.

    Most questions are answered by the newest few of some fifty releases.
    """

    __slots__ = ("_read", "_unread")

    def __init__(self, unread: Mapping[str, Read]) -> None:
        self._unread = unread
        self._read: dict[str, tuple[Build, ...]] = {}

    @classmethod
    def of(cls, builds: Iterable[Build]) -> Shelf:
        """A shelf of builds that are read already, in no promised order."""
        by_release: dict[str, list[Build]] = {}
        for build in builds:
            by_release.setdefault(build.torch, []).append(build)
        return cls({torch: lambda found=tuple(found): found for torch, found in by_release.items()})  # type: ignore[misc]

    def releases(self) -> tuple[str, ...]:
        return tuple(self._unread)

    def builds(self, release: str) -> tuple[Build, ...]:
        if release not in self._read:
            self._read[release] = self._unread[release]()
        return self._read[release]

    def __iter__(self) -> Iterator[Build]:
        for release in self._unread:
            yield from self.builds(release)


NO_BUILDS = Shelf({})


class Table(Noun):
    """`builds` maps a platform's name to its shelf; `capabilities` are those that any GPU has.

    `date` is the day of the newest fact in it: of the evidence it was made from, or of the last refresh. `notes` say
    what of the cache was ignored.
    """

    builds: Mapping[str, Shelf]
    drivers: DriverTable
    floors: LibraryFloors = LibraryFloors()
    capabilities: frozenset[str] = frozenset()
    date: str | None = None
    notes: tuple[Note, ...] = ()
    amd: AmdRules = AmdRules()
    mps: tuple[MpsFloor, ...] = ()

    def of(self, platform: str) -> Shelf:
        return self.builds.get(platform, NO_BUILDS)
