"""What a look at this computer finds, as values: devices on its PCI bus, and its GPUs. Pure."""

from __future__ import annotations

from torchpick.errors import silent
from torchpick.model.machine import Driver, Gpu, Note, Trouble
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.environment.world import World
    from torchpick.errors import Report
    from torchpick.knowledge.compat import Knowledge


class LookOptions(Noun):
    """How this computer is looked at: what lies there, until when, and by what knowledge.

    `exact_order` also asks libcuda for its order of the GPUs where CUDA_VISIBLE_DEVICES needs it. Sources that
    are slow to answer are reported, once.
    """

    world: World
    deadline: float
    knowledge: Knowledge
    trust_pci: bool = False
    exact_order: bool = False
    report: Report = silent


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
