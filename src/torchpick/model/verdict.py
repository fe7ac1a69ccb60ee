"""The verdict on one build, with its objections, and the words for how far code supports a GPU."""

from __future__ import annotations

from enum import Enum

from torchpick.model.arch import Arch, Fit
from torchpick.model.build import BUILD_NAMES, Build
from torchpick.model.fields import written
from torchpick.model.namedtuples import NamedTuple
from torchpick.model.versions import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RUNS = "runs"
JIT = "runs by JIT"
PARTLY = "partly"
NOT = "will not run"
NO_CODE = "no GPU code"
COMPILES = "compiles at run time"
# It holds code for GPUs, and none was specified or found.
UNJUDGED = "not judged"
# Only a part was read, and it shows neither. It is null in JSON.
UNKNOWN = "not known"

# The worst first: what several GPUs make of one reading.
WORST_FIRST = (NOT, PARTLY, UNKNOWN, JIT, RUNS, COMPILES, NO_CODE)
FAILS = (PARTLY, NOT)


class Reason(Enum):
    """Why a build is passed over: the name is the stable code, the value the sentence."""

    NOT_REQUESTED = "`{asked}` was asked for"
    BACKEND_NOT_ALLOWED = "{why}"
    NO_WHEEL_FOR_PLATFORM = "there is no wheel for {platform}"
    NO_WHEEL_FOR_PYTHON = "there is no wheel for {python}: it has {pythons}"
    GLIBC_TOO_OLD = "needs glibc {needs}, this platform has {has}"
    COMPANION_MISSING = "lacks a companion: {why}"
    UNCONFIRMED = "it is not confirmed on the index"
    UNKNOWN_ARCHES = "which GPUs it was built for is not known"
    YANKED = "it was withdrawn"
    NO_KERNELS = "holds no code for {gpu}: it was built for {arches}"
    PTX_ONLY_DRIVER_TOO_OLD = "has only PTX for {gpu}, which needs a driver for CUDA {cuda}; this one is for {has}"
    DRIVER_TOO_OLD = "CUDA {cuda} needs driver {needs} or newer; this one is {has}"
    GPU_NOT_SERVED_BY_DRIVER = "driver {has} does not support {gpu}: {why}"
    LIBRARY_DROPPED_GPU = "{library} in it supports {floor}, not {gpu}"
    CUDA_MAJOR_MIXED = "{what} CUDA {cuda}, and {other}"
    CUDA_FILES_SHARED = "brings {wheel}, which writes {files} files of the {other} that torch brings"
    PACKAGE_DRIVER_TOO_OLD = "needs {library}, and CUDA {cuda} needs driver {needs} or newer; this one is {has}"
    PACKAGE_NO_KERNELS = "holds no code for {gpu}: {library} was built for {arches}"
    CONSTRAINED = "{unmet}"
    OTHER_TORCH = "{better}"


class Objection(NamedTuple):
    """A reason and its facts; `gpu` is set if it is about that GPU alone, `machine` if there are several."""

    reason: Reason
    facts: Mapping[str, str] = {}
    gpu: int | None = None
    machine: int | None = None

    @property
    def text(self) -> str:
        return self.reason.value.format_map(self.facts)

    @property
    def code(self) -> str:
        return self.reason.name

    def to_json(self) -> dict[str, object]:
        return written(self, "code", "text", "gpu", "machine", optional=("gpu", "machine"))


class GpuFit(NamedTuple):
    """How one GPU is supported, and by which code of the build."""

    gpu: int
    fit: Fit
    via: Arch | None
    machine: int | None = None

    def to_json(self) -> dict[str, object]:
        return written(self, optional=("machine",))


class Rank(NamedTuple):
    """The order of preference, written once: fields compare from the first to the last, larger is better.

    First what suits the machine (3 its own family of builds, 2 the same of a vendor's own index, 1 another
    accelerator's, 0 the cpu build where there is a GPU). Then the newest torch; the better fit of the worst GPU; a CUDA
    the driver supports itself, or a ROCm whose libraries are inside the wheel; the newest toolkit. The backend's name
    only makes the order total.
    """

    preference: int
    release: Release
    worst_fit: int
    native: bool
    toolkit: tuple[int, ...]
    backend: str


class Verdict(NamedTuple):
    """A build, judged for one machine; no objection means that it runs there.

    `rank` is its place in the order of preference, larger is better; its `native` is false where it relies on
    minor-version compatibility.
    """

    build: Build
    objections: tuple[Objection, ...]
    fits: tuple[GpuFit, ...]
    rank: Rank

    @property
    def ok(self) -> bool:
        return not self.objections

    def supports(self, gpu: int) -> bool:
        """Whether this GPU alone would run it."""
        return all(objection.gpu not in (None, gpu) for objection in self.objections)

    def alone(self, gpu: int) -> Verdict:
        """The verdict as if this GPU were the only one."""
        fits = tuple(fit for fit in self.fits if fit.gpu == gpu)
        worst = min((int(fit.fit) for fit in fits), default=self.rank.worst_fit)
        objections = tuple(objection for objection in self.objections if objection.gpu in (None, gpu))
        return self._replace(objections=objections, fits=fits, rank=self.rank._replace(worst_fit=worst))

    @property
    def reasons(self) -> frozenset[Reason]:
        return frozenset(objection.reason for objection in self.objections)

    def to_json(self) -> dict[str, object]:
        return {**written(self.build, *BUILD_NAMES), **written(self, "ok", "objections")}
