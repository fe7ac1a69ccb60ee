"""A machine, as far as a PyTorch build cares: platform, Python, driver, GPUs."""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.noun import Noun
from torchpick.model.versions import is_dotted

# The contract's platform names.
PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-x86_64", "windows-arm64", "macos-arm64", "macos-x86_64")
VENDORS = ("nvidia", "amd", "intel", "apple")
CODE_VENDORS = ("nvidia", "amd")


class Note(Noun):
    """Something a person should know; the code is stable."""

    code: str
    text: str

    def to_json(self) -> dict[str, object]:
        return {"code": self.code, "text": self.text}


class Trouble(Noun):
    """Why a GPU that is there gives no answer; a machine that carries one is never judged."""

    code: str
    text: str
    hint: str

    def to_json(self) -> dict[str, object]:
        return {"code": self.code, "text": self.text, "hint": self.hint}


class Gpu(Noun):
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
    source: str = "told"

    @property
    def label(self) -> str:
        """How a person calls it: `GeForce GTX 1080 Ti (sm_61)`."""
        arch = str(self.arch) if self.arch else None
        if self.name and arch:
            return f"{self.name} ({arch})"
        return self.name or arch or f"GPU {self.index}"

    def to_json(self) -> dict[str, object]:
        return {
            "index": self.index,
            "vendor": self.vendor,
            "name": self.name,
            "arch": None if self.arch is None else str(self.arch),
            "uuid": self.uuid,
            "pci": self.pci,
            "visible": self.visible,
            "integrated": self.integrated,
            "counted": self.counted,
            "source": self.source,
        }

    @classmethod
    def from_json(cls, fields: Fields, index: int) -> Gpu:
        vendor = fields.text("vendor") if fields.has("vendor") else "nvidia"
        if vendor not in VENDORS:
            raise fields.fail("vendor", f"must be one of {', '.join(VENDORS)}, is {vendor!r}")
        arch = None
        if (text := fields.maybe_text("arch")) is not None:
            try:
                arch = Arch.parse(text)
            except ValueError as error:
                raise fields.fail("arch", str(error)) from error
        return cls(
            index=fields.number("index") if fields.has("index") else index,
            vendor=vendor,
            name=fields.maybe_text("name"),
            arch=arch,
            uuid=fields.maybe_text("uuid"),
            pci=fields.maybe_text("pci"),
            visible=fields.flag("visible", default=True),
            integrated=fields.flag("integrated", default=False),
            counted=fields.flag("counted", default=True),
            source=fields.maybe_text("source") or "told",
        )


class Driver(Noun):
    """The NVIDIA kernel driver and the CUDA it speaks itself; each fact with its source.

    `os` is set where another system's driver decides: under WSL2 it is the Windows driver.
    """

    version: str | None
    cuda: str | None = None
    source: str = "told"
    cuda_source: str | None = None
    os: str | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "version": self.version,
            "cuda": self.cuda,
            "source": self.source,
            "cuda_source": self.cuda_source,
            "os": self.os,
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Driver:
        for name in ("version", "cuda"):
            text = fields.maybe_text(name)
            if text is not None and not is_dotted(text):
                raise fields.fail(name, f"must be numbers between dots, is {text!r}")
        return cls(
            version=fields.maybe_text("version"),
            cuda=fields.maybe_text("cuda"),
            source=fields.maybe_text("source") or "told",
            cuda_source=fields.maybe_text("cuda_source"),
            os=fields.maybe_text("os"),
        )


class Platform(Noun):
    """Operating system, processor and C library. `glibc` None is not judged; `libc` is `glibc`, `musl` or None."""

    os: str
    cpu: str
    glibc: str | None = None
    libc: str | None = None

    @property
    def name(self) -> str:
        return f"{self.os}-{self.cpu}"

    @classmethod
    def parse(cls, name: str, glibc: str | None = None) -> Platform:
        """From one of the contract's names."""
        os, _, cpu = name.partition("-")
        return cls(os, cpu, glibc, "glibc" if os == "linux" else None)

    def to_json(self) -> dict[str, object]:
        return {"os": self.os, "cpu": self.cpu, "glibc": self.glibc, "libc": self.libc}

    @classmethod
    def from_json(cls, fields: Fields) -> Platform:
        glibc = fields.maybe_text("glibc")
        if glibc is not None and not is_dotted(glibc):
            raise fields.fail("glibc", f"must be numbers between dots, is {glibc!r}")
        os = fields.text("os")
        return cls(os, fields.text("cpu"), glibc, fields.maybe_text("libc") or ("glibc" if os == "linux" else None))


class Python(Noun):
    """The interpreter that torch is for. `source` says how it was chosen."""

    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    executable: str | None = None
    source: str = "told"

    @property
    def tag(self) -> str:
        """`cp312`, `cp314t`, `pp310`."""
        return f"{self.implementation}{self.version.replace('.', '')}{'t' if self.free_threaded else ''}"

    def to_json(self) -> dict[str, object]:
        return {
            "version": self.version,
            "implementation": self.implementation,
            "free_threaded": self.free_threaded,
            "executable": self.executable,
            "source": self.source,
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Python:
        version = fields.text("version")
        if not is_dotted(version) or version.count(".") != 1:
            raise fields.fail("version", f"must be X.Y, is {version!r}")
        return cls(
            version=version,
            implementation=fields.maybe_text("implementation") or "cp",
            free_threaded=fields.flag("free_threaded", default=False),
            executable=fields.maybe_text("executable"),
            source=fields.maybe_text("source") or "told",
        )


class Machine(Noun):
    """Everything the answer depends on. No GPU is a machine, not an error."""

    platform: Platform
    python: Python
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] = ()
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None
    name: str | None = None

    @property
    def counted(self) -> tuple[Gpu, ...]:
        """The GPUs that a build must hold code for; Apple's and Intel's are reached without any in the wheel."""
        return tuple(gpu for gpu in self.gpus if gpu.counted and gpu.vendor in CODE_VENDORS)

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "platform": self.platform.to_json(),
            "python": self.python.to_json(),
            "driver": None if self.driver is None else self.driver.to_json(),
            "gpus": [gpu.to_json() for gpu in self.gpus],
            "notes": [note.to_json() for note in self.notes],
            "trouble": None if self.trouble is None else self.trouble.to_json(),
        }

    @classmethod
    def from_json(cls, value: object, path: str = "") -> Machine:
        """Read what `to_json` wrote; raises ShapeError with the path of what is wrong."""
        fields = Fields(value, path)
        driver = fields.maybe_object("driver")
        gpus = fields.objects("gpus") if fields.has("gpus") else []
        if len(gpus) > 1024:
            raise fields.fail("gpus", f"has {len(gpus)} items, more than 1024")
        notes = fields.objects("notes") if fields.has("notes") else []
        trouble = fields.maybe_object("trouble")
        return cls(
            platform=Platform.from_json(fields.object("platform")),
            python=Python.from_json(fields.object("python")),
            driver=None if driver is None else Driver.from_json(driver),
            gpus=tuple(Gpu.from_json(gpu, index) for index, gpu in enumerate(gpus)),
            notes=tuple(Note(note.text("code"), note.text("text")) for note in notes),
            trouble=None
            if trouble is None
            else Trouble(trouble.text("code"), trouble.text("text"), trouble.text("hint")),
            name=fields.maybe_text("name"),
        )
