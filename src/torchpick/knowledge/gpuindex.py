"""The index of NVIDIA's names and PCI ids, and a name that stands in it as it was written: what every `--gpu` loads.

The names are compared by their letters and digits alone; scripts/table/names.py makes the keys by the same functions.
"""

from __future__ import annotations

from torchpick.model import NamedTuple
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.machine import GpuProduct
from torchpick.model.versions import numbers, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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

    capabilities: Sequence[str]
    full: Mapping[str, str]
    core: Mapping[str, str]
    products: tuple[tuple[str, str], ...]
    sold_most: Mapping[str, str]
    mig: Mapping[str, Sequence[str]]
    arm_only: Sequence[str]
    clouds: Mapping[str, str]

    @classmethod
    def from_json(cls, fields: Fields) -> Names:
        values: dict[str, Any] = {name: fields.raw(name) for name in cls._fields}
        products = zip(values["products"], fields.texts("product_capabilities"), strict=True)
        return cls(**{**values, "products": tuple(products)})

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
    return GpuProduct.nvidia(text, arch_of(capability), arm_only=any(word in plain for word in names.arm_only))


def letters(text: str) -> str:
    """The letters and digits of a name, which alone tell products apart."""
    return text.lower().encode("ascii", "ignore").translate(None, _MARKS).decode()


@remembered
def spelled(products: tuple[tuple[str, str], ...]) -> list[tuple[str, str, str, str]]:
    """Each by its letters and in small letters, the shortest first."""
    rows = sorted((len(name), name, words) for name, words in products)
    return [(letters(name), name.lower(), name, words) for _, name, words in rows]


def brand(plain: str) -> tuple[str, str]:
    """The families that the leading brand words allow, and the rest of the name."""
    families, rest = FAMILIES, plain
    while (word := next((word for word in BRANDS if rest.startswith(word)), None)) is not None and word != rest:
        families = "".join(family for family in BRANDS[word] if family in families)
        rest = rest[len(word) :]
    return families, rest


def target_of(text: str) -> Arch:
    """An AMD GPU's own target; `gfx906:sramecc+:xnack-` is gfx906 with features, which no wheel's list names."""
    return Arch.parse(text.partition(":")[0])


def arch_of(capability: str) -> Arch:
    major, minor = numbers(capability)
    return Arch.of_capability(major, minor)


def pci_arches(fields: Fields) -> Callable[[int], Arch | None]:
    """What gives the architecture of a device id (vendor 10de), or None: then only the driver knows.

    `pci_devices` holds the ids for which a range, or having none, would answer otherwise.
    """
    ranges: list[Any] = fields.items("pci_ranges")
    devices = {int(name, 16): capability for name, capability in fields.mapping("pci_devices").items()}

    def arch(device: int) -> Arch | None:
        within = next((capability for first, last, capability in ranges if first <= device <= last), None)
        capability = devices.get(device, within)
        return None if capability is None else arch_of(capability)

    return arch
