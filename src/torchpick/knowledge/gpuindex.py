"""The index of NVIDIA's names and PCI ids, and a name that stands in it as it was written: what every `--gpu` loads.

The names are compared by their letters and digits alone; scripts/table/names.py makes the keys by the same functions.
"""

from __future__ import annotations

from torchpick.model import NamedTuple
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.machine import GpuProduct
from torchpick.model.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Which product lines a brand word may stand for: people write GTX for RTX, never GTX for Quadro. `n` are the products
# that carry no brand (A100, L40S, TITAN V).
BRANDS = {
    "geforce": "g",
    "quadro": "wn",
    "tesla": "dn",
    "jetson": "jn",
    "drive": "jn",
    "igx": "jn",
    "grid": "dn",
    "dgx": "dn",
    "hgx": "dn",
    "rtx": "gwn",
    "gtx": "gn",
    "gts": "gn",
    "gt": "g",
}
FAMILIES = "gwdjn"
# `780M` is a Radeon as well, and `M4` Apple's.
_SHARED = "m0123456789"
_MARKS = bytes(range(128)).translate(None, b"0123456789abcdefghijklmnopqrstuvwxyz")


class Names(NamedTuple):
    """The names index. `full`: branded names → capabilities; `core`: names without brand → family and capability.

    `sold_most`: a shared name → the capability it stands for; `mig`: an instance's profile → the GPUs that have it;
    `clouds`: the family of a cloud's instance type → its GPU.
    """

    capabilities: tuple[str, ...]
    full: Mapping[str, str]
    core: Mapping[str, str]
    products: tuple[tuple[str, str], ...]
    sold_most: Mapping[str, str] = {}
    mig: Mapping[str, Sequence[str]] = {}
    arm_only: tuple[str, ...] = ()
    clouds: Mapping[str, str] = {}

    @classmethod
    def from_json(cls, fields: Fields) -> Names:
        products = zip(fields.texts("products"), fields.texts("product_capabilities"), strict=True)
        return cls(
            capabilities=fields.texts("capabilities"),
            full=fields.mapping("full"),
            core=fields.mapping("core"),
            products=tuple(products),
            sold_most=fields.mapping("sold_most"),
            mig=fields.mapping("mig"),
            arm_only=fields.texts("arm_only"),
            clouds=fields.mapping("clouds"),
        )

    def written(self, text: str) -> GpuProduct | None:
        """The GPU of this name, letter for letter; None for what stands for several, or may be another maker's."""
        plain = letters(text).removeprefix("nvidia")
        capabilities = set() if plain[:1] in _SHARED else self.capabilities_of(plain)
        return (
            named(text, plain, capabilities.pop(), self) if len(capabilities) == 1 and "?" not in capabilities else None
        )

    def capabilities_of(self, plain: str) -> set[str]:
        """Those of the products that are called so."""
        families, rest = brand(plain)
        if rest != plain and plain in self.full:
            return set(self.full[plain].split())
        # `g6.1 w7.5`: a GeForce of 6.1 and a workstation card of 7.5 are called so.
        words = self.core.get(rest, "").split()
        return {word[1:] for word in words if word[0] in families}


def named(text: str, plain: str, capability: str, names: Names) -> GpuProduct:
    """The GPU of this name and capability."""
    return GpuProduct.nvidia(text, arch_of(capability), arm_only=any(word in plain for word in names.arm_only))


def letters(text: str) -> str:
    """The letters and digits of a name, which alone tell products apart."""
    return text.lower().encode("ascii", "ignore").translate(None, _MARKS).decode()


def brand(plain: str) -> tuple[str, str]:
    """The families that the leading brand words allow, and the rest of the name."""
    families, rest = FAMILIES, plain
    while (word := next((word for word in BRANDS if rest.startswith(word)), None)) is not None and word != rest:
        families = "".join(family for family in BRANDS[word] if family in families)
        rest = rest[len(word) :]
    return families, rest


def arch_of(capability: str) -> Arch:
    major, minor = numbers(capability)
    return Arch.of_capability(major, minor)


class PciIds(NamedTuple):
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
            tuple((first, last, arch_of(capability)) for first, last, capability in ranges),
            {int(name, 16): None if capability is None else arch_of(capability) for name, capability in listed},
        )
