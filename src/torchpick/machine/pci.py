"""Devices on the PCI bus, as values. Pure."""

from __future__ import annotations

from torchpick.model.noun import Noun


class PciGpu(Noun):
    """A display-class device; `bound` is the kernel driver that holds it."""

    address: str
    vendor: int
    device: int
    bound: str | None = None
