"""From an NVIDIA PCI device id to the architecture of its chip, for where the driver will not say."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError
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
        listed = fields.object("pci_devices")
        for name in listed.names():
            try:
                number = int(name, 16)
            except ValueError as error:
                raise listed.fail(name, "is not a device id") from error
            known = listed.maybe_text(name)
            devices[number] = None if known is None else _arch(known, listed.at(name))
        return cls(tuple(ranges), devices)


def _arch(capability: str, path: str) -> Arch:
    try:
        major, minor = capability.split(".")
        return Arch.of_capability(int(major), int(minor))
    except ValueError as error:
        raise ShapeError(path, f"is not a capability: {capability!r}") from error
