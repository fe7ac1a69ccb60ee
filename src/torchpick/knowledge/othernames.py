"""From a name of AMD's, Intel's or Apple's to the GPU: `RX 7900 XTX`, `Arc B580`, `M3 Max`; and PCI ids of all makers.

Case, blanks, hyphens and trademark signs never matter. compat/amd.json, intel.json and apple.json say where each name
is from; the index holds them by their letters and digits alone.
"""

from __future__ import annotations

import re

from torchpick.knowledge.gpunames import LONGEST, Candidates, Named, letters
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Names that can only be theirs, by letters and digits alone; what matches is not looked up among NVIDIA's names.
_AMD = (
    r"radeon|instinct|firepro|^amd|^rx(?:vega)?[0-9]|^vega(?:[0-9]|$)|^mi[1-9][0-9]{1,2}[ax]?$|^strix(?:halo|point)"
    r"|^ryzen|^steam(?:deck|machine)|^w[67][0-9]{3}x?$|^wx[0-9]"
)
_INTEL = r"^intel|^arc(?:pro)?(?:[ab][0-9]|1[34]0[tv]|graphics|$)|^(?:iris|uhd|irisxe)|^(?:datacenter)?gpu(?:max|flex)"
# M6, M10, M40 and M60 are Teslas; M4 is both, and Apple sold more.
_APPLE = r"^(?:apple)?m(?:[1-5]|[1-9](?:pro|max|ultra))$|^apple"
# What the vendors' tools and shops put around a name.
_AROUND = r"\(r\)|\(tm\)|advanced micro devices,? ?(?:inc\.?)?|\[amd/ati\]|\bgraphics\b|\bseries\b|\bgpu\b"
_MOST_CLOSE = 6


class OtherGpu(Noun):
    """A GPU of these vendors. `arch` is AMD's target alone; `supported` whether the XPU builds support an Intel GPU."""

    vendor: str
    name: str
    arch: Arch | None = None
    integrated: bool = False
    supported: bool = True
    others: tuple[Named, ...] = ()


class OtherNames(Noun):
    """The index. An AMD name has its targets in one text, the most sold first; an Intel name has its generation."""

    amd: Mapping[str, str]
    amd_products: tuple[str, ...]
    amd_integrated: tuple[str, ...]
    amd_pci: Mapping[str, tuple[str, str]]
    intel: Mapping[str, int]
    intel_products: tuple[str, ...]
    intel_generations: tuple[Any, ...]
    intel_pci: Mapping[str, tuple[int, str]]
    apple_chips: tuple[str, ...]

    @classmethod
    def from_json(cls, fields: Fields) -> OtherNames:
        return cls(
            amd=fields.mapping("amd_names"),
            amd_products=fields.texts("amd_products"),
            amd_integrated=fields.texts("amd_integrated"),
            amd_pci=fields.mapping("amd_pci"),
            intel=fields.mapping("intel_names"),
            intel_products=fields.texts("intel_products"),
            intel_generations=tuple(fields.items("intel_generations")),
            intel_pci=fields.mapping("intel_pci"),
            apple_chips=fields.texts("apple_chips"),
        )

    @property
    def amd_named(self) -> tuple[tuple[str, str], ...]:
        """AMD's products with their targets between blanks."""
        found = ((name, self.amd.get(letters(name).removeprefix("amd"))) for name in self.amd_products)
        return tuple((name.removeprefix("AMD "), targets) for name, targets in found if targets is not None)

    def amd_device(self, device: int) -> OtherGpu | None:
        """The AMD GPU with this PCI device id, if it is known."""
        if (known := self.amd_pci.get(f"{device:04x}")) is None:
            return None
        target, name = known
        return OtherGpu("amd", name, target_of(target), target in self.amd_integrated)

    def intel_device(self, device: int) -> OtherGpu | None:
        """The Intel GPU with this PCI device id, if it is known."""
        if (known := self.intel_pci.get(f"{device:04x}")) is None:
            return None
        generation, name = known
        return self._of_generation(generation, name)

    def intel_product(self, key: str, name: str) -> OtherGpu | None:
        generation = self.intel.get(key)
        return None if generation is None else self._of_generation(generation, name)

    def _of_generation(self, place: int, name: str) -> OtherGpu:
        _, supported, integrated, _ = self.intel_generations[place]
        return OtherGpu("intel", name, None, integrated, supported=supported)


def belongs(text: str) -> str | None:
    """The vendor whose name this can only be; None where it may be NVIDIA's."""
    plain = letters(text[:LONGEST])
    for vendor, pattern in (("apple", _APPLE), ("amd", _AMD), ("intel", _INTEL)):
        if re.search(pattern, plain):
            return vendor
    return None


def look_up(text: str, names: OtherNames) -> OtherGpu | Candidates:
    """The GPU of one of these vendors that this text names, or the close ones."""
    shown, vendor = text.strip()[:LONGEST], belongs(text)
    plain = letters(re.sub(_AROUND, " ", shown.lower()))
    if vendor == "apple":
        return _apple(shown, plain, names)
    if vendor != "intel" and (gpu := _amd(shown, plain, names)) is not None:
        return gpu
    if vendor != "amd":
        whole = letters(re.sub(r"\(r\)|\(tm\)", "", shown.lower())).removeprefix("intel")
        for key in (whole, plain, plain.removeprefix("intel"), plain.removeprefix("intel").removeprefix("datacenter")):
            if (found := names.intel_product(key, shown)) is not None:
                return found
    if vendor == "intel" and re.search(r"iris|uhd|hdgraphics", plain):
        return OtherGpu("intel", shown, None, integrated=True, supported=False)
    products = names.intel_products if vendor == "intel" else names.amd_products if vendor == "amd" else ()
    return Candidates("UNKNOWN_NAME", shown, _close(plain, products, names))


def target_of(text: str) -> Arch:
    """An AMD GPU's own target; `gfx906:sramecc+:xnack-` is gfx906 with features, which no wheel's list names."""
    return Arch.parse(text.partition(":")[0])


def _apple(shown: str, plain: str, names: OtherNames) -> OtherGpu | Candidates:
    chip = plain.removeprefix("apple")
    known = {letters(name): name for name in names.apple_chips}
    if chip in known:
        return OtherGpu("apple", f"Apple {known[chip]}", integrated=True)
    if chip in ("silicon", "") or re.match(r"m[1-9]", chip):  # a chip newer than the list is Apple's too
        return OtherGpu("apple", shown, integrated=True)
    return Candidates("UNKNOWN_NAME", shown, ())


def _amd(shown: str, plain: str, names: OtherNames) -> OtherGpu | None:
    """By the key as it is listed, then without what vendors put in front."""
    bare = plain.removeprefix("amd").removeprefix("ati")
    shorter = (bare.removeprefix("radeon"), bare.removeprefix("instinct"))
    for key in (plain, bare, f"radeon{bare}", f"rx{bare}", *shorter):
        if not (value := names.amd.get(key)):
            continue
        first, *rest = value.split()
        others = tuple(Named(shown, target_of(target)) for target in rest)
        return OtherGpu("amd", shown, target_of(first), first in names.amd_integrated, others=others)
    return None


def _close(plain: str, products: tuple[str, ...], names: OtherNames) -> tuple[Named, ...]:
    from difflib import get_close_matches

    known = {letters(name): name for name in products}
    close = []
    for key in get_close_matches(plain, known, n=_MOST_CLOSE, cutoff=0.7):
        targets = names.amd.get(key, "").split()
        close.append(Named(known[key], target_of(targets[0]) if targets else None))
    return tuple(close)


class PciIds(Noun):
    """`devices` holds the ids for which a range, or having none, would answer otherwise; None is not known."""

    ranges: tuple[tuple[int, int, Arch], ...]
    devices: Mapping[int, Arch | None]

    def arch(self, device: int) -> Arch | None:
        """The architecture of this device id (vendor 10de), or None: then only the driver knows."""
        if device in self.devices:
            return self.devices[device]
        return next((arch for first, last, arch in self.ranges if first <= device <= last), None)

    @classmethod
    def from_json(cls, fields: Fields) -> PciIds:
        ranges: list[Any] = fields.items("pci_ranges")
        listed = fields.mapping("pci_devices").items()
        return cls(
            tuple((first, last, _arch(capability)) for first, last, capability in ranges),
            {int(name, 16): None if known is None else _arch(known) for name, known in listed},
        )


def _arch(capability: str) -> Arch:
    major, minor = numbers(capability)
    return Arch.of_capability(major, minor)
