"""What a decision knows: builds per platform, which driver supports what, and the floors of vendors' libraries."""

from __future__ import annotations

from torchpick.model import NamedTuple
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.machine import Driver, Note
from torchpick.model.versions import grouped, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Read = Callable[[], tuple[Build, ...]]

# From CUDA 11 on a driver carries every minor of its major (minor-version compatibility); before, the toolkit's own
# driver is needed (NVIDIA CUDA Compatibility guide).
FIRST_COMPATIBLE_MAJOR = 11


# What a number that stands for the newest driver of its branch is compared as: larger than any second number.
_NEWEST = 1 << 20


class DriverTable(NamedTuple):
    """`toolkits`: CUDA → oldest driver per OS. `majors`: CUDA major → floor per OS.

    `branches`, the oldest first: number → the CUDA it supports itself. `windows_last`: the last first number of its
    drivers for Windows (582.66 is of branch 580).
    `last_branch`: capability → last driver branch that supports it. `first_driver`: capability → oldest driver per OS.
    `unified_tegra`: the driver from which Tegra loads the code of discrete GPUs (JetPack 7). `generations`: CUDA → the
    major capabilities its toolkit compiles for, oldest first.
    """

    toolkits: Mapping[str, Mapping[str, str]]
    majors: Mapping[int, Mapping[str, str]]
    branches: Mapping[int, str]
    windows_last: Mapping[int, int]
    last_branch: Mapping[tuple[int, int], int]
    first_driver: Mapping[tuple[int, int], Mapping[str, str]]
    unified_tegra: str | None = None
    generations: tuple[tuple[str, frozenset[int]], ...] = ()

    def floor(self, cuda: str, os: str) -> str | None:
        """The oldest driver that carries builds of this CUDA: the lower of the toolkit's row and its major's floor."""
        major = int(cuda.split(".", maxsplit=1)[0])
        own = self.toolkits.get(cuda, {}).get(os)
        shared = self.majors.get(major, {}).get(os) if major >= FIRST_COMPATIBLE_MAJOR else None
        known = [floor for floor in (own, shared) if floor is not None]
        return min(known, key=numbers) if known else None

    def branch_of(self, version: str) -> int | None:
        """The branch of a driver on any system: the newest known that is not above its first number."""
        first = numbers(version)[0]
        return max((branch for branch in self.branches if branch <= first), default=None)

    def branch_number(self, driver: Driver) -> int:
        """The branch of a driver, by its number, else by the CUDA it supports; 0 for one older than the table."""
        if driver.version is not None:
            return self.branch_of(driver.version) or 0
        cuda = numbers(driver.cuda or "0")
        return max((branch for branch, own in self.branches.items() if numbers(own) <= cuda), default=0)

    def is_branch_number(self, version: str) -> bool:
        """Whether this is a branch alone (`535`), which stands for the newest driver of it."""
        return "." not in version and int(version) in self.branches

    def at_least(self, version: str, floor: str, os: str) -> bool:
        """Whether a driver is this one or newer; a number alone stands for the newest driver that begins with it."""
        if "." in version:
            return numbers(version) >= numbers(floor)
        branch = self.branch_of(version) if os == "windows" and self.is_branch_number(version) else None
        return (int(version) if branch is None else self.windows_last[branch], _NEWEST) >= numbers(floor)

    def speaks(self, driver: Driver) -> str | None:
        """The CUDA this driver supports itself: what it reported, else what its branch came with."""
        if driver.cuda is not None or driver.version is None:
            return driver.cuda
        branch = self.branch_of(driver.version)
        return None if branch is None else self.branches[branch]

    def standing(self, driver: Driver, os: str) -> tuple[object, ...]:
        """All of a driver that a judgement depends on: whoever has two that are alike here need judge only one."""
        rows = (*self.toolkits.values(), *self.majors.values(), *self.first_driver.values())
        floors = {row[os] for row in rows if os in row} | ({self.unified_tegra} if self.unified_tegra else set())
        version = driver.version
        reached = version and sum(self.at_least(version, floor, os) for floor in floors)
        return reached, version and self.branch_number(driver), driver.cuda, os

    def supports_cuda(self, driver: Driver, cuda: str, os: str) -> bool:
        spoken = self.speaks(driver)
        if spoken is not None and numbers(spoken) >= numbers(cuda):
            return True
        if driver.version is None:
            major = int(cuda.split(".", maxsplit=1)[0])
            return spoken is not None and FIRST_COMPATIBLE_MAJOR <= major == numbers(spoken)[0]
        floor = self.floor(cuda, os)
        return floor is not None and self.at_least(driver.version, floor, os)

    def too_old(self, driver: Driver, cuda: str, os: str) -> dict[str, str]:
        """What such builds need and what is there, where the driver does not carry this CUDA; empty where it does."""
        if self.supports_cuda(driver, cuda, os):
            return {}
        needs = self.floor(cuda, os) or f"for CUDA {cuda}"
        return {"needs": needs, "has": driver.label}

    def dropped_by(self, driver: Driver, gpu: Arch) -> int | None:
        """The last branch that supports the GPU, where this driver is of a later one."""
        last = self.last_branch.get(gpu.capability)
        return last if last is not None and self.branch_number(driver) > last else None

    def unsupported(self, driver: Driver, gpu: Arch, os: str) -> dict[str, str]:
        """Why this driver does not support that GPU at all, and which would (`needs` if a newer); empty if it does."""
        last = self.dropped_by(driver, gpu)
        first = self.first_driver.get(gpu.capability, {}).get(os)
        if last is not None:
            why, mends, first = f"driver branch {last} is the last that supports it", f"a driver of branch {last}", ""
        elif first is not None and self._older(driver, first, os):
            why, mends = f"driver {first} is the first that supports it", f"driver {first} or newer"
        else:
            return {}
        return {"has": driver.label, "why": why, "needs": first, "mends": mends}

    def knows(self, cuda: str, gpu: Arch) -> bool:
        """Whether the libraries of this CUDA can hold code for the GPU's generation at all (cuBLAS, cuDNN: no PTX)."""
        made = next((majors for toolkit, majors in self.generations if numbers(toolkit) >= numbers(cuda)), None)
        return made is None or gpu.capability[0] in made or gpu.capability[0] < min(made)

    def assumed(self, version: str, os: str | None = None) -> Driver:
        return Driver(version, self.speaks(Driver(version)), "assumed", "assumed", os)

    def assumed_for(self, gpus: tuple[Arch, ...]) -> str:
        """The newest driver branch that supports all of these; the newest known where none of them has ended."""
        ended = [self.last_branch[gpu.capability] for gpu in gpus if gpu.capability in self.last_branch]
        return str(min(ended, default=max(self.branches)))

    def _older(self, driver: Driver, first: str, os: str) -> bool:
        if driver.version is not None:
            return not self.at_least(driver.version, first, os)
        needed = self.speaks(Driver(first))
        return needed is not None and numbers(driver.cuda or "0") < numbers(needed)


# From this version on, the library needs at least this capability; of any CUDA major, or of this one.
Floor = tuple[str, tuple[int, int], int | None]


def floor_of(rows: tuple[Floor, ...], version: str, cuda_major: int | None = None) -> tuple[int, int]:
    """The capability that this version of a library needs at least."""
    release = numbers(version)
    holding = ((numbers(since), floor) for since, floor, major in rows if major in (None, cuda_major))
    _, newest = max(((since, floor) for since, floor in holding if since <= release), default=((), (0, 0)))
    return newest


def below(gpu: Arch, floor: tuple[int, int]) -> bool:
    return gpu.kind == "sm" and gpu.capability < floor


class BuildsByRelease:
    """The builds of one platform by release, each release read when it is first asked for.

    Most questions are answered by the newest few of some fifty releases.
    """

    __slots__ = ("_read", "_unread")

    def __init__(self, unread: Mapping[str, Read]) -> None:
        self._unread = unread
        self._read: dict[str, tuple[Build, ...]] = {}

    @classmethod
    def of(cls, builds: Iterable[Build]) -> BuildsByRelease:
        """A shelf of builds that are read already, in no promised order."""
        by_release = grouped((build.torch, build) for build in builds)
        return cls({torch: lambda found=tuple(found): found for torch, found in by_release.items()})  # type: ignore[misc]

    def releases(self) -> tuple[str, ...]:
        return tuple(self._unread)

    def builds(self, release: str) -> tuple[Build, ...]:
        """Those of a release; none where it is not known."""
        if release not in self._read:
            self._read[release] = self._unread.get(release, tuple)()
        return self._read[release]

    def __iter__(self) -> Iterator[Build]:
        for release in self._unread:
            yield from self.builds(release)


NO_BUILDS = BuildsByRelease({})


class Kind(NamedTuple):
    """GPUs of one architecture; `platforms` empty means that they are found on every one.

    The products are examples for tables and comments; a test holds them against the names that compat/ has.
    """

    arch: Arch
    generation: str
    examples: tuple[str, ...]
    platforms: tuple[str, ...] = ()

    @property
    def vendor(self) -> str:
        return "amd" if self.arch.kind == "gfx" else "nvidia"

    def found_on(self, platform: str) -> bool:
        return not self.platforms or platform in self.platforms


class Table(NamedTuple):
    """`builds` maps a platform's name to its shelf; `capabilities` are those that any GPU has.

    cuDNN is part of nearly every model, so its floor is an objection; NCCL matters to several GPUs at once only.
    `brought` are a CUDA major, one of NVIDIA's wheels of it, and a library that this brings. `mps`
    holds releases of torch, each with the oldest macOS on which its mps device works from then on. `rocblas_gaps`: from
    which ROCm on, and up to which, rocBLAS lacks targets. `gfx_overrides`: target → the HSA_OVERRIDE_GFX_VERSION with
    which some run builds for another on it, and why.

    `date` is the day of the newest fact in it: of the evidence it was made from, or of the last refresh. `notes` say
    what of the cache was ignored. `excluded`: X.Y.Z of Python → the companions' releases that leave it out.
    """

    builds: Mapping[str, BuildsByRelease]
    drivers: DriverTable
    cudnn: tuple[Floor, ...] = ()
    nccl: tuple[Floor, ...] = ()
    brought: tuple[tuple[int, str, str], ...] = ()
    capabilities: frozenset[str] = frozenset()
    date: str | None = None
    notes: tuple[Note, ...] = ()
    rocblas_gaps: tuple[tuple[str, str | None, tuple[Arch, ...]], ...] = ()
    gfx_overrides: Mapping[Arch, tuple[str, str]] = {}
    mps: tuple[tuple[str, str], ...] = ()
    kinds: tuple[Kind, ...] = ()
    excluded: Mapping[str, tuple[str, ...]] = {}

    @property
    def nvidia(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in self.kinds if kind.vendor == "nvidia")

    def kind_of(self, arch: Arch | None) -> Kind | None:
        return next((kind for kind in self.kinds if kind.arch == arch), None)

    def of(self, platform: str) -> BuildsByRelease:
        return self.builds.get(platform, NO_BUILDS)

    def find(self, platform: str, release: str, backend: str) -> Build | None:
        return next((build for build in self.of(platform).builds(release) if build.backend == backend), None)

    def without_vendors(self) -> Table:
        kept = {
            name: BuildsByRelease.of(build for build in shelf if build.vendor is None)
            for name, shelf in self.builds.items()
        }
        return self._replace(builds=kept)
