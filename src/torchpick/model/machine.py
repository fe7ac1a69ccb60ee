"""A machine, as far as a PyTorch build cares: platform, Python, driver, GPUs."""

from __future__ import annotations

from torchpick.errors import DetectionError
from torchpick.model import NamedTuple
from torchpick.model.arch import ARM_ONLY, TEGRA, Arch, parsed
from torchpick.model.fields import MOST_LINE, Fields, dumps, html, written
from torchpick.model.versions import is_dotted, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# The contract's platform names.
PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-x86_64", "windows-arm64", "macos-arm64", "macos-x86_64")
# Those of the table: linux-s390x has CPU wheels, and no name in the contract.
TABLE_PLATFORMS = (*PLATFORMS, "linux-s390x")
VENDORS = ("nvidia", "amd", "intel", "apple")
CODE_VENDORS = ("nvidia", "amd")
# How long a look at a machine may take unless it is given: a cold host with several GPUs takes five seconds and more.
TIMEOUT_S = 10.0

# Bounds for a machine that is given in a file. The longest path has 4096 characters on Linux, and a note may name every
# GPU of a machine.
MOST_GPUS = 1024
MOST_INDEX = 10_000  # what `--only` can name
_PATH, _PROSE = 4096, 1 << 18
_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
# NVIDIA's newest capability is 12.1; twice that is no typo.
_NEWEST_MAJOR = 30


class Note(NamedTuple):
    """Something a user should know; the code is stable."""

    code: str
    text: str


class Trouble(NamedTuple):
    """Why a GPU that is present does not answer; a machine with such a GPU is never judged."""

    code: str
    text: str
    hint: str


class Gpu(NamedTuple):
    """One physical GPU. `index` is its place in `Machine.gpus`; `counted` is false where it is left out."""

    index: int  # type: ignore[assignment]  # the contract's name; nobody calls tuple.index on a GPU
    vendor: str
    name: str | None
    arch: Arch | None
    uuid: str | None = None
    pci: str | None = None
    visible: bool = True
    integrated: bool = False
    counted: bool = True
    source: str = "given"

    @property
    def label(self) -> str:
        """Its label: `GeForce GTX 1080 Ti (sm_61)`."""
        arch = str(self.arch) if self.arch else None
        if self.name and arch:
            return f"{self.name} ({arch})"
        return self.name or arch or f"GPU {self.index}"

    @classmethod
    def from_json(cls, fields: Fields, index: int) -> Gpu:
        vendor = fields.text("vendor") if fields.has("vendor") else "nvidia"
        if vendor not in VENDORS:
            raise fields.fail("vendor", f"must be one of {', '.join(VENDORS)}, is {vendor!r}")
        place = fields.number("index") if fields.has("index") else index
        if not 0 <= place < MOST_INDEX:
            raise fields.fail("index", f"must be from 0 to {MOST_INDEX - 1}, is {place}")
        return cls(
            index=place,
            vendor=vendor,
            name=fields.maybe_text("name", MOST_LINE),
            arch=_device(fields, vendor),
            uuid=fields.maybe_text("uuid", MOST_LINE),
            pci=fields.maybe_text("pci", MOST_LINE),
            visible=fields.flag_or("visible", True),
            integrated=fields.flag_or("integrated", False),
            counted=fields.flag_or("counted", True),
            source=fields.text_or("source", "given"),
        )


def labels(gpus: Iterable[Gpu]) -> str:
    return ", ".join(dict.fromkeys(gpu.label for gpu in gpus))


def _device(fields: Fields, vendor: str) -> Arch | None:
    """The architecture of a device, not of code: `sm_90` and never `sm_90a` or `compute_90`, and the vendor's own."""
    text = fields.maybe_text("arch", MOST_LINE)
    if text is None:
        return None
    try:
        arch = parsed(text)
    except ValueError as error:
        raise fields.fail("arch", str(error)) from error
    wanted = {"nvidia": "sm", "amd": "gfx"}.get(vendor)
    if arch.kind != wanted:
        looks = {"sm": "sm_86", "gfx": "gfx1100"}.get(wanted or "", "null")
        raise fields.fail("arch", f"must be such as {looks} for a GPU of {vendor}, is {text!r}")
    if arch.kind == "sm" and (arch.suffix or not 1 <= arch.major <= _NEWEST_MAJOR):
        raise fields.fail("arch", f"must be a GPU's own architecture such as sm_90, is {text!r}")
    return arch


class GpuProduct(NamedTuple):
    """The GPU of a name, and its architecture where that is published.

    `others` share the name and were sold less; `platform` is the only one where such a GPU exists.

    `supported` is false for an Intel GPU that the XPU builds do not support.
    """

    vendor: str
    name: str | None
    arch: Arch | None = None
    integrated: bool = False
    supported: bool = True
    others: tuple[GpuProduct, ...] = ()
    platform: str | None = None

    @classmethod
    def nvidia(
        cls, name: str | None, arch: Arch, others: tuple[GpuProduct, ...] = (), *, arm_only: bool = False
    ) -> GpuProduct:
        platform = "linux-aarch64" if arm_only or arch.capability in ARM_ONLY else None
        # Tegra's own GPUs share the processor's memory.
        integrated = arch.capability in ARM_ONLY - {(12, 1)}
        return cls("nvidia", name, arch, integrated, others=others, platform=platform)

    def __str__(self) -> str:
        return f"{self.name} ({self.arch or 'capability unknown'})"


class Driver(NamedTuple):
    """The NVIDIA kernel driver and the CUDA it supports itself; each fact with its source.

    `os` is set where another system's driver decides: under WSL2 it is the Windows driver.
    """

    version: str | None
    cuda: str | None = None
    source: str = "given"
    cuda_source: str | None = None
    os: str | None = None

    @property
    def label(self) -> str:
        """Its version, or the CUDA it is for where that alone is known."""
        return self.version or (f"for CUDA {self.cuda}" if self.cuda else "not given")

    @classmethod
    def from_json(cls, fields: Fields) -> Driver:
        version, cuda_source = fields.maybe_dotted("version"), fields.maybe_text("cuda_source", MOST_LINE)
        cuda, os = fields.maybe_dotted("cuda"), fields.maybe_text("os")
        if cuda is not None and cuda.count(".") != 1:
            raise fields.fail("cuda", f"must be X.Y, is {cuda!r}")
        if os not in (None, "linux", "windows"):
            raise fields.fail("os", f"must be linux, windows or null, is {os!r}")
        return cls(version, cuda, fields.text_or("source", "given"), cuda_source, os)


class Platform(NamedTuple):
    """Operating system, processor and C library. `glibc` None is not judged; `libc` is `glibc`, `musl` or None.

    `macos` is a Mac's system version, not judged where it is None.
    """

    os: str
    cpu: str
    glibc: str | None = None
    libc: str | None = None
    macos: str | None = None

    @property
    def name(self) -> str:
        return f"{self.os}-{self.cpu}"

    @classmethod
    def parse(cls, name: str) -> Platform:
        """From one of the contract's names."""
        os, _, cpu = name.partition("-")
        return cls(os, cpu, libc="glibc" if os == "linux" else None)

    @classmethod
    def from_json(cls, fields: Fields) -> Platform:
        glibc, macos = fields.maybe_dotted("glibc"), fields.maybe_dotted("macos")
        os, libc = word(fields, "os"), fields.maybe_text("libc")
        if libc not in (None, "glibc", "musl"):
            raise fields.fail("libc", f"must be glibc, musl or null, is {libc!r}")
        libc = libc or ("glibc" if os == "linux" else None)
        return cls(os, word(fields, "cpu"), glibc, libc, macos)


def word(fields: Fields, name: str) -> str:
    """A word of a platform's name. Files are named by it, so it is letters, digits and underscores alone."""
    text = fields.text(name)
    if not 0 < len(text) <= 32 or not _WORD.issuperset(text):
        raise fields.fail(name, f"must be up to 32 of a-z, 0-9 and _, is {text[:40]!r}")
    return text


class Python(NamedTuple):
    """The interpreter that torch is for. `source` says how it was chosen; `exact` is its X.Y.Z, where that is known."""

    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    executable: str | None = None
    source: str = "given"
    exact: str | None = None

    @property
    def tag(self) -> str:
        """`cp312`, `cp314t`, `pp310`."""
        return f"{self.implementation}{self.version.replace('.', '')}{'t' if self.free_threaded else ''}"

    @property
    def image(self) -> str | None:
        """Its official image; the free-threaded ones and other implementations have none there."""
        return None if self.free_threaded or self.implementation != "cp" else f"python:{self.version}"

    @classmethod
    def from_json(cls, fields: Fields) -> Python:
        version = fields.text("version")
        if not is_dotted(version) or version.count(".") != 1:
            raise fields.fail("version", f"must be X.Y, is {version!r}")
        implementation = word(fields, "implementation") if fields.maybe_text("implementation") else "cp"
        executable = fields.maybe_text("executable", _PATH)
        return cls(
            version=version,
            implementation=implementation,
            free_threaded=fields.flag_or("free_threaded", False),
            executable=executable,
            source=fields.text_or("source", "given"),
            exact=fields.maybe_text("exact", MOST_LINE),
        )


# The first part of a wheel's Python tag, by the interpreter's own name.
IMPLEMENTATIONS = {"cpython": "cp", "pypy": "pp", "graalpy": "graalpy"}
_VERSION = r"(?a)([1-9])\.(\d{1,2})(\.\d{1,3})?(t?)"


def version_of(text: str | None) -> Python | None:
    """`3.12`, `3.12.4`, `3.14t`; None for what is a path or a command."""
    match = pattern(_VERSION).fullmatch((text or "").strip())
    if match is None:
        return None
    version = f"{match[1]}.{int(match[2])}"
    return Python(version, free_threaded=bool(match[4]), exact=match[3] and version + match[3])


class Machine(NamedTuple):
    """Everything the pick depends on. A machine without a GPU is not an error."""

    platform: Platform
    python: Python
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] = ()
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None
    name: str | None = None

    def __repr__(self) -> str:
        return f"<Machine {self.in_short}>"

    def _repr_html_(self) -> str:
        return html(self)

    @property
    def ok(self) -> bool:
        """Whether every GPU that is there answers."""
        return self.trouble is None

    def require(self) -> Machine:
        """The machine itself; DetectionError, which carries it, where a GPU does not answer."""
        if (error := self.detection_error) is not None:
            raise error
        return self

    @property
    def detection_error(self) -> DetectionError | None:
        if self.trouble is None:
            return None
        code, text, hint = self.trouble
        return DetectionError(text, hint=hint, code=code, machine=self)

    @property
    def in_short(self) -> str:
        """The facts that decide, in a few words: its GPUs, its driver, its platform and its Python."""
        gpus: dict[str, int] = {}
        for gpu in self.gpus:
            label = gpu.label if gpu.counted else f"{gpu.label} (not counted)"
            gpus[label] = gpus.get(label, 0) + 1
        named = " + ".join(label if count == 1 else f"{count} x {label}" for label, count in gpus.items())
        facts = [named or "no GPU", *([] if self.driver is None else [f"driver {self.driver.label}"])]
        python = f"Python {self.python.version}{'t' if self.python.free_threaded else ''}"
        return ", ".join([*facts, self.platform.name, python])

    @property
    def driver_os(self) -> str:
        """The system whose driver decides, by which its numbers are read: under WSL2 it is Windows."""
        return self.driver.os if self.driver and self.driver.os else self.platform.os

    @property
    def jetsons(self) -> tuple[Gpu, ...]:
        """The GPUs of Jetsons up to Orin: each JetPack takes wheels of its own, and their drivers other numbers."""
        return tuple(gpu for gpu in self.nvidia if gpu.arch and gpu.arch.capability in TEGRA)

    @property
    def used(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.counted)

    @property
    def vendors(self) -> frozenset[str]:
        return frozenset(gpu.vendor for gpu in self.used)

    @property
    def counted(self) -> tuple[Gpu, ...]:
        """The GPUs that a build must hold code for; Apple's and Intel's are reached without any in the wheel."""
        return tuple(gpu for gpu in self.used if gpu.vendor in CODE_VENDORS)

    @property
    def nvidia(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.used if gpu.vendor == "nvidia" and gpu.arch)

    def label_of(self, index: int | None) -> str:
        """The label of the GPU with this index; without one of those that need no code, or that there is none."""
        none = labels(self.used) or f"{self.platform.name} without a GPU"
        return next((gpu.label for gpu in self.gpus if gpu.index == index), none)

    def to_dict(self) -> dict[str, object]:
        """The `machine` of `torchpick detect --json`."""
        return {"name": self.name, **written(self)}

    def to_json(self) -> str:
        """One line for `--machine`."""
        return dumps(self.to_dict())

    @classmethod
    def from_dict(cls, value: object, path: str = "") -> Machine:
        """Read what `to_dict` wrote; raises ShapeError with the path of what is wrong."""
        fields = Fields(value, path)
        driver, trouble = fields.maybe_object("driver"), fields.maybe_object("trouble")
        notes, gpus = fields.maybe_objects("notes", MOST_GPUS), fields.maybe_objects("gpus", MOST_GPUS)
        machine = cls(
            platform=Platform.from_json(fields.object("platform")),
            python=Python.from_json(fields.object("python")),
            driver=None if driver is None else Driver.from_json(driver),
            gpus=tuple(Gpu.from_json(gpu, index) for index, gpu in enumerate(gpus)),
            notes=tuple(Note(note.text("code", _PROSE), note.text("text", _PROSE)) for note in notes),
            trouble=None if trouble is None else Trouble(*(trouble.text(name, _PROSE) for name in Trouble._fields)),
            name=fields.maybe_text("name", MOST_LINE),
        )
        if len({gpu.index for gpu in machine.gpus}) < len(gpus):  # an answer names a GPU by it
            raise fields.fail("gpus", "has two GPUs with the same index")
        return machine
