"""From an NVIDIA PCI device id to the architecture of its chip, for where the driver will not say."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError, kind
from torchpick.model.noun import Noun


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
        ranges = []
        for place, row in enumerate(fields.items("pci_ranges")):
            path = f"{fields.at('pci_ranges')}[{place}]"
            match row:
                case [int(first), int(last), str(capability)]:
                    ranges.append((first, last, _arch(capability, path)))
                case _:
                    raise ShapeError(path, "must be first id, last id, capability")
        devices: dict[int, Arch | None] = {}
        raw = fields.raw("pci_devices")
        if not isinstance(raw, dict):
            raise fields.fail("pci_devices", f"must be an object, is {kind(raw)}")
        for name in raw:
            path = f"{fields.at('pci_devices')}.{name}"
            try:
                number = int(name, 16)
            except ValueError as error:
                raise ShapeError(path, "is not a device id") from error
            known = Fields(raw, fields.at("pci_devices")).maybe_text(name)
            devices[number] = None if known is None else _arch(known, path)
        return cls(tuple(ranges), devices)


def _arch(capability: str, path: str) -> Arch:
    try:
        major, minor = capability.split(".")
        return Arch.of_capability(int(major), int(minor))
    except ValueError as error:
        raise ShapeError(path, f"is not a capability: {capability!r}") from error
