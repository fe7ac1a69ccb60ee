"""What one source says about the NVIDIA side of a computer, and what of it can be believed. Pure."""

from __future__ import annotations

from torchpick.model.fields import Fields, ShapeError, loads, read
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# More GPUs than any one operating system drives; a library that claims more is wrong.
MOST_DEVICES = 64

_DRIVER = r"\d{2,4}(?:\.\d{1,4}){1,3}"
_PCI = r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?"
_UUID = r"[0-9A-Za-z/-]{4,100}"


class Failure(Noun):
    """Why a source gave nothing. `kind`: absent, refused, stub, hangs, crashed, silent or unusable."""

    kind: str
    text: str
    code: int | None = None


class Device(Noun):
    """One GPU as a source sees it; `error` is the source's status where the GPU itself would not answer."""

    name: str | None = None
    capability: tuple[int, int] | None = None
    uuid: str | None = None
    pci: str | None = None
    error: int | None = None


class DriverReading(Noun):
    """One source's answer. `libcuda` is the version in the file name of the libcuda that its CUDA version is from."""

    source: str
    driver: str | None = None
    cuda: str | None = None
    devices: tuple[Device, ...] = ()
    failure: Failure | None = None
    libcuda: str | None = None

    @property
    def answering(self) -> tuple[Device, ...]:
        return tuple(device for device in self.devices if device.error is None)


def failed(source: str, kind: str, text: str) -> DriverReading:
    return DriverReading(source, failure=Failure(kind, text))


def load(text: bytes, source: str) -> DriverReading:
    """Read what a child wrote, believing nothing: it shared a process with a driver library."""
    try:
        return _load(Fields(loads(text)), source)
    except ShapeError as error:
        return failed(source, "silent", f"gave an answer that cannot be read: {error}")


def _load(fields: Fields, source: str) -> DriverReading:
    failure = fields.maybe_object("failure")
    if failure is not None:
        return DriverReading(source, failure=read(Failure, failure, most=None))
    return DriverReading(
        source=source,
        driver=driver_version(fields.maybe_text("driver")),
        cuda=cuda_version(fields.maybe_number("cuda")),
        devices=tuple(map(_load_device, fields.objects("devices")[:MOST_DEVICES])),
        libcuda=driver_version(fields.maybe_text("libcuda")),
    )


def _load_device(fields: Fields) -> Device:
    pair = [] if fields.lacks("capability") else fields.items("capability")
    return Device(
        name=name(fields.maybe_text("name")),
        capability=capability(*pair) if len(pair) == 2 else None,
        uuid=_formed(_UUID, fields.maybe_text("uuid")),
        pci=pci(fields.maybe_text("pci")),
        error=fields.maybe_number("error"),
    )


def _match(pattern: str, text: str) -> re.Match[str] | None:
    """The patterns are loaded where there is something to match: most starts see no driver."""
    if not text:
        return None
    import re

    return re.fullmatch(pattern, text, re.ASCII)


def name(raw: str | None) -> str | None:
    """A GPU's name, or None where it holds what no name holds (drivers 555.85 and 555.99 under WSL2 return garbage)."""
    text = (raw or "").strip()
    if not text or not text.isprintable() or "\N{REPLACEMENT CHARACTER}" in text or text.startswith("["):
        return None
    return text[:128]


def driver_version(raw: str | None) -> str | None:
    """`580.95.05`, or None where the text is no driver version."""
    return _formed(_DRIVER, raw)


def _formed(pattern: str, raw: str | None) -> str | None:
    """The text without blanks around it, where it is of this form."""
    text = (raw or "").strip()
    return text if _match(pattern, text) else None


def cuda_version(number: int | None) -> str | None:
    """`12080` → `12.8`; None for numbers that no CUDA ever had (an untouched 0 or -1 among them)."""
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None and 2000 <= number < 100_000 else None


def capability(major: object, minor: object) -> tuple[int, int] | None:
    """A compute capability, or None for numbers that were not written (0.0, -1) or cannot be (9999.-1)."""
    if isinstance(major, bool) or not isinstance(major, int) or not isinstance(minor, int):
        return None
    return (major, minor) if 1 <= major <= 30 and 0 <= minor <= 9 else None


def pci(raw: str | None) -> str | None:
    """A PCI address the way the kernel writes it: NVML's `00000000:01:00.0` → `0000:01:00.0`."""
    match = _match(_PCI, (raw or "").strip())
    if match is None:
        return None
    domain, bus, slot, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{slot}.{function or 0}".lower()
