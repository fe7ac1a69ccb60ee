"""Which of a machine's GPUs count: one vendor's, and of those all, the visible, or the named ones. Pure."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.model.machine import Gpu, Machine, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def one_vendor(gpus: Sequence[Gpu]) -> tuple[tuple[Gpu, ...], tuple[Note, ...]]:
    """Count NVIDIA's GPUs, else the first counted vendor's; integrated ones only if specified or alone."""
    counted = [gpu for gpu in gpus if gpu.counted]
    if not counted:
        return tuple(gpus), ()
    vendor = "nvidia" if any(gpu.vendor == "nvidia" for gpu in counted) else counted[0].vendor
    discrete = any(not gpu.integrated for gpu in counted if gpu.vendor == vendor)
    notes = []
    others = [gpu for gpu in gpus if gpu.vendor != vendor]
    if others:
        labels = ", ".join(gpu.label for gpu in others)
        notes.append(Note("OTHER_VENDOR_LEFT_OUT", f"{labels}: left out, as a build supports one vendor's GPUs"))
    inside = [gpu for gpu in counted if gpu.vendor == vendor and discrete and _found_inside(gpu)]
    if inside:
        labels = ", ".join(gpu.label for gpu in inside)
        notes.append(Note("INTEGRATED_LEFT_OUT", f"{labels}: left out, as there is a discrete GPU"))
    return tuple(
        gpu._replace(counted=gpu.counted and gpu.vendor == vendor and not (discrete and _found_inside(gpu)))
        for gpu in gpus
    ), tuple(notes)


def _found_inside(gpu: Gpu) -> bool:
    """Whether it is a processor's own GPU that was not asked for.

    A Ryzen's graphics beside a Radeon are listed by every tool, so specifying them means little; `--only` does count.
    """
    return gpu.integrated and (gpu.source != "given" or gpu.vendor == "amd")


def narrow(machine: Machine, *, visible_only: bool = False, only: Sequence[int] = ()) -> Machine:
    """Let only the visible GPUs count, or only those with the given indices."""
    if visible_only:
        machine = _visible(machine)
    return _only(machine, only) if only else machine


def _visible(machine: Machine) -> Machine:
    hidden = [gpu for gpu in machine.counted if not gpu.visible]
    # The note that the variable hides some and that all count is no longer true.
    notes = tuple(note for note in machine.notes if note.code != "CUDA_VISIBLE_DEVICES")
    if not hidden:
        return machine._replace(notes=notes)
    text = f"{', '.join(gpu.label for gpu in hidden)}: hidden by CUDA_VISIBLE_DEVICES and left out (--gpus visible)"
    return machine._replace(
        gpus=tuple(gpu._replace(counted=gpu.counted and gpu.visible) for gpu in machine.gpus),
        notes=(*notes, Note("NOT_VISIBLE_LEFT_OUT", text)),
    )


def _only(machine: Machine, only: Sequence[int]) -> Machine:
    """A given index counts, even if its GPU would have been left out as another vendor's."""
    there = {gpu.index: gpu for gpu in machine.gpus}
    unknown = [str(index) for index in only if index not in there]
    if unknown:
        has = f"has GPU {', '.join(map(str, there))}" if there else "has no GPU"
        raise UsageError(f"--only {','.join(unknown)}: this machine {has}", hint="run `torchpick detect`")
    chosen = [there[index] for index in only]
    vendors = {gpu.vendor for gpu in chosen}
    if len(vendors) > 1:
        raise UsageError(
            f"--only {','.join(map(str, only))}: GPUs of {' and '.join(sorted(vendors))}, and no build supports both",
            hint="select the GPUs of one vendor",
        )
    left = [gpu for gpu in machine.counted if gpu.index not in only]
    notes = machine.notes
    if left:
        notes = (*notes, Note("ONLY_LEFT_OUT", f"{', '.join(gpu.label for gpu in left)}: left out (--only)"))
    # A vendor's silent driver does not matter if another vendor's GPUs are selected.
    trouble = machine.trouble if vendors & {"nvidia"} else None
    return machine._replace(
        gpus=tuple(gpu._replace(counted=gpu.index in only) for gpu in machine.gpus), notes=notes, trouble=trouble
    )
