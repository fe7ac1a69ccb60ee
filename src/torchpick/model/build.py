"""A build: one PyTorch release for one backend on one platform; the verdict on it, with its objections."""

from __future__ import annotations

from torchpick.model import Enum, NamedTuple
from torchpick.model.arch import Arch, Fit
from torchpick.model.fields import written
from torchpick.model.versions import Release, is_release, numbers, release_key, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# Companions are pinned with torch; the rest of its family is only kept to the wheel host (compat/family.json).
COMPANIONS = ("torchvision", "torchaudio")
TRIO = frozenset({"torch", *COMPANIONS})
# Names of torch's own wheels of triton: a build pins what it needs of them.
TRITONS = ("triton", "triton-rocm", "triton-xpu", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu")
# The backend of the default package index's own wheels: plain versions, on the user's own index.
DEFAULT_INDEX = "default"
# What names a build in JSON.
BUILD_NAMES = ("torch", "backend", "version", "platform")
BuildKey = tuple[str, str, str]  # platform, version, backend


class Evidence(NamedTuple):
    """What a row is based on. `measured`: read out of a wheel (`ref` names it). `declared`: a script or a list says so.

    `twin` is the default index's wheel of the same release, CUDA and platform, where that one was read: its file and
    sha256.
    """

    kind: str
    ref: str
    twin: Mapping[str, str] | None = None


class VendorIndex(NamedTuple):
    """A vendor's own index, for what the wheel host lacks.

    `option` hands it to pip. Of `projects` its wheels take GPU code as extras (`torch[device-gfx1201]`), `documented`
    are those that the vendor lists; `alone` says that what they require lies there too, and nowhere else. `inferred`
    are the Pythons and companions of which nobody was seen to use its wheels. `needs` are libraries and requirements
    that its wheels need and do not name.
    """

    vendor: str
    url: str
    option: str
    projects: tuple[str, ...] = ()
    documented: tuple[Arch, ...] = ()
    alone: bool = False
    inferred: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class Build(NamedTuple):
    """One build. `version` has the local label where the wheel has one; `arches` None: they are not known.

    `companion_basis` says of each companion how it is known to belong here: `metadata`, `declared` or `inferred`.
    `companion_pythons` holds the Pythons of those whose files are known; any other has torch's own. `vendor` is where
    it lies if not on the wheel host, `extras` bring its code for the GPUs of a machine.
    """

    torch: str
    backend: str
    platform: str
    version: str
    cuda: str | None
    arches: tuple[Arch, ...] | None
    pythons: tuple[str, ...]
    tags: tuple[str, ...] = ()
    glibc: str | None = None
    libraries: Mapping[str, str] = {}
    lacks: Mapping[str, tuple[Arch, ...]] = {}
    published: bool | None = True
    yanked: bool = False
    companions: Mapping[str, str | None] = {}
    companion_basis: Mapping[str, str] = {}
    evidence: Evidence = Evidence("declared", "")
    companion_pythons: Mapping[str, tuple[str, ...]] = {}
    vendor: VendorIndex | None = None
    extras: tuple[str, ...] = ()

    @property
    def key(self) -> BuildKey:
        """What tells it from every other build of an index."""
        return self.platform, self.version, self.backend

    @property
    def family(self) -> str:
        """`cuda`, `rocm`, `cpu` or `xpu`."""
        if self.backend == DEFAULT_INDEX:
            return "cpu" if self.cuda is None else "cuda"
        return family_of(self.backend)

    @property
    def cuda_major(self) -> int | None:
        return None if self.cuda is None else int(self.cuda.partition(".")[0])

    @property
    def unified(self) -> bool:
        return is_unified(self.torch, self.cuda)

    @property
    def pins(self) -> dict[str, str]:
        """Torch and each companion that was made for it, by the version of exactly this build."""
        return {"torch": self.version, **self.companion_pins}

    @property
    def companion_pins(self) -> dict[str, str]:
        """Each companion that was made for it, by the version of exactly this build."""
        return {name: version for name, version in self.companions.items() if version is not None}

    def for_machine(self, python: str, gpus: Iterable[Arch | None], excluded: Iterable[str] = ()) -> Build:
        """The build with those companions alone that have a wheel for this Python, and with its code for these GPUs.

        `excluded` are the companions' releases that leave out this very Python, `torchvision 0.29.2`.
        """
        missing = [name for name, pythons in self.companion_pythons.items() if python not in pythons]
        missing += [name for name in self.companions if self.release_of(name) in excluded] if excluded else ()
        build = self._replace(companions={**self.companions, **dict.fromkeys(missing)}) if missing else self
        if self.vendor is None or not self.vendor.projects:
            return build
        return build._replace(extras=tuple(f"device-{arch}" for arch in dict.fromkeys(gpus)))

    def release_of(self, companion: str) -> str:
        """A companion and its release without the label of its build: `torchvision 0.29.2`."""
        return f"{companion} {self.companions[companion]}".partition("+")[0]

    def is_inferred(self, companion: str) -> bool:
        """Whether the maintainers of the companion name only an older torch."""
        return self.companion_basis.get(companion) == "inferred"

    def extras_of(self, name: str) -> tuple[str, ...]:
        """The extras with which a project of this build brings its code for the GPUs."""
        return self.extras if self.vendor is not None and name in self.vendor.projects else ()

    def index_url(self, base: str, channel: str = "stable") -> str:
        """The wheel index this build lies on, under the given base (a mirror, or the wheel host).

        Empty for the default index's own wheels: they come from whichever index the user has configured.
        """
        if self.vendor is not None:
            return self.vendor.url
        if self.backend == DEFAULT_INDEX:
            return ""
        if base.startswith("flat+"):
            return base.removeprefix("flat+")
        folder = "" if channel == "stable" else f"/{channel}"
        return f"{base.rstrip('/')}{folder}/{self.backend}"


def is_unified(torch: str | None, cuda: str | None) -> bool:
    """Whether discrete code crosses to Tegra: torch 2.14 and later, built with CUDA 13.2 and later."""
    if torch is None or cuda is None or numbers(cuda) < (13, 2) or not is_release(torch):
        return False
    return release_key(torch)[0] >= (2, 14)


# Whose GPUs a family of builds is for: the vendor, and the maker's name.
MAKERS = {"cuda": ("nvidia", "NVIDIA"), "rocm": ("amd", "AMD"), "xpu": ("intel", "Intel")}
# Makers' names that stand for each backend of theirs.
FAMILIES = ("cuda", "rocm")


@remembered  # a table has some fifty backends and asks of each build several times
def family_of(backend: str) -> str:
    if backend.startswith("cu"):
        return "cuda"
    return "rocm" if backend.startswith("rocm") else backend


def backend_order(backend: str) -> tuple[str, tuple[int, ...]]:
    """Backends as a list shows them: by family, the older toolkit first."""
    return family_of(backend), toolkit_order(backend)


@remembered
def toolkit_order(backend: str) -> tuple[int, ...]:
    """The order among backends of one family: cu126 < cu130, and as numbers rocm7.2 < rocm7.14."""
    family = family_of(backend)
    if family == "cuda":
        digits = backend[2:]
        return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else ()
    return numbers(backend[4:]) if family == "rocm" else ()


def python_name(tag: str) -> str:
    """`cp314t` → `Python 3.14t`."""
    names = {"cp": "Python", "pp": "PyPy"}
    digits = tag[2:].rstrip("t")
    free = "t" if tag.endswith("t") else ""
    return f"{names.get(tag[:2], tag[:2])} {digits[:1]}.{digits[1:]}{free}" if digits else tag


def python_order(tag: str) -> tuple[bool, int]:
    """The newest ordinary interpreter, not a free-threaded one."""
    return not tag.endswith("t"), python_number(tag)


def python_number(tag: str) -> int:
    """`cp314t` → 314."""
    digits = tag[2:].rstrip("t")
    return int(digits[:9]) if digits.isdecimal() else 0


@remembered  # few sets of tags, many builds
def python_span(tags: tuple[str, ...]) -> str:
    """`3.9 to 3.13, 3.13t`; a gap stays a gap: `3.6 to 3.8, 3.14`."""
    runs: list[list[str]] = []
    for tag in sorted((tag for tag in tags if not tag.endswith("t")), key=python_order):
        step = 310 - 39 if tag == "cp310" else 1  # from cp39 the digits jump
        if runs and python_number(tag) == python_number(runs[-1][-1]) + step:
            runs[-1].append(tag)
        else:
            runs.append([tag])
    words = [_plain(run[0]) if len(run) == 1 else f"{_plain(run[0])} to {_plain(run[-1])}" for run in runs]
    return ", ".join([*words, *(_plain(tag) for tag in tags if tag.endswith("t"))]) or "none"


def _plain(tag: str) -> str:
    return python_name(tag).removeprefix("Python ")


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

    def to_dict(self) -> dict[str, object]:
        return written(self, "code", "text", "gpu", "machine", optional=("gpu", "machine"))


class GpuFit(NamedTuple):
    """How one GPU is supported, and by which code of the build."""

    gpu: int
    fit: Fit
    via: Arch | None
    machine: int | None = None

    def to_dict(self) -> dict[str, object]:
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

    def to_dict(self) -> dict[str, object]:
        return {**written(self.build, *BUILD_NAMES), **written(self, "ok", "objections")}
