"""What a look at this computer finds, as values: devices on its PCI bus, and its GPUs. Pure."""

from __future__ import annotations

from torchpick.model.machine import Driver, Gpu, Note, Trouble
from torchpick.model.noun import Noun


class PciGpu(Noun):
    """A display-class device; `bound` is the kernel driver that holds it."""

    address: str
    vendor: int
    device: int
    bound: str | None = None


class Seen(Noun):
    """What was found of one vendor or of all; `trouble` says why a GPU that is present does not answer."""

    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None

    def beside(self, other: Seen) -> Seen:
        """With another vendor's GPUs after these."""
        return self._replace(gpus=(*self.gpus, *other.gpus), notes=(*self.notes, *other.notes))
