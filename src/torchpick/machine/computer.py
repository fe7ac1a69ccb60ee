"""This computer, or a specified one, as a Machine: a specified fact replaces the detected one; and which GPUs count."""

from __future__ import annotations

import time

from torchpick.environment.world import World
from torchpick.errors import UsageError, silent
from torchpick.machine import given, kernel
from torchpick.machine.kernel import LookOptions, Seen
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchpick.errors import Report
    from torchpick.knowledge.compat import Knowledge


def detect(
    facts: given.MachineOverrides,
    *,
    knowledge: Knowledge,
    report: Report = silent,
    world: World | None = None,
    look_for_gpus: Callable[[LookOptions, Platform], Seen] | None = None,
) -> Machine:
    """The machine; what is specified is not probed.

    `Machine.trouble` is set where a GPU is present and does not answer. Sources that are silent after two
    seconds are reported, once.
    """
    world = world or World.here()
    deadline = time.monotonic() + facts.timeout
    if facts.gpus is not None:
        machine = given.make_machine(facts, facts.gpus, world)
    else:
        (python, platform), _ = given.interpreter_and_platform(facts, world, deadline)
        how = LookOptions(world, deadline, knowledge, facts.trust_pci, exact_order=facts.visible_only, report=report)
        seen = (look_for_gpus or look)(how, platform)
        driver = _merged_driver(seen.driver, facts.driver)
        machine = Machine(platform, python, driver, seen.gpus, seen.notes, seen.trouble)
    if facts.visible_only:
        machine = without_hidden(machine)
    if facts.only:
        machine = only_gpus(machine, facts.only)
    if facts.gpus is None:
        return machine
    gpus, notes = count_one_vendor(machine.gpus)
    return machine._replace(gpus=gpus, notes=(*machine.notes, *notes))


def _merged_driver(detected: Driver | None, specified: Driver | None) -> Driver | None:
    """A specified version also replaces the detected CUDA version, which belongs to the other driver."""
    if specified is None or specified.version is not None:
        return specified or detected
    return (detected or Driver(None))._replace(cuda=specified.cuda, cuda_source=specified.cuda_source)


def look(how: LookOptions, platform: Platform) -> Seen:
    """Look for GPUs of every vendor, NVIDIA's first, and say which vendor's count."""
    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read_kernel(how.world)
    seen = Seen()
    if kernel.worth_asking(facts, how.world):
        from torchpick.machine import nvidia

        seen = nvidia.look(how, facts)
    if platform.os == "macos" or facts.kfd or any(pci.vendor in (kernel.AMD, kernel.INTEL) for pci in facts.pci):
        from torchpick.machine import non_nvidia

        seen = non_nvidia.look(how, platform, facts, seen)
    trouble = seen.trouble
    others = [str(gpu.index) for gpu in seen.gpus if gpu.counted and gpu.vendor != "nvidia"]
    if trouble and others:
        trouble = trouble._replace(hint=f"{trouble.hint}, or `--only {','.join(others)}` for the other GPU")
    counted, left_out = count_one_vendor(seen.gpus)
    return seen._replace(gpus=counted, notes=(*seen.notes, *left_out), trouble=trouble)


def count_one_vendor(gpus: Sequence[Gpu]) -> tuple[tuple[Gpu, ...], tuple[Note, ...]]:
    """Count NVIDIA's GPUs, else the first counted vendor's; integrated ones only if specified or alone."""
    counted = [gpu for gpu in gpus if gpu.counted]
    if not counted:
        return tuple(gpus), ()
    vendor = "nvidia" if any(gpu.vendor == "nvidia" for gpu in counted) else counted[0].vendor
    alike = [gpu for gpu in counted if gpu.vendor == vendor]
    discrete = any(not gpu.integrated for gpu in alike)
    inside = [gpu for gpu in alike if discrete and _is_incidental(gpu)]
    notes = []
    if others := [gpu for gpu in gpus if gpu.vendor != vendor]:
        text = f"{labels(others)}: left out, as a build supports one vendor's GPUs"
        notes.append(Note("OTHER_VENDOR_LEFT_OUT", text))
    if inside:
        notes.append(Note("INTEGRATED_LEFT_OUT", f"{labels(inside)}: left out, as there is a discrete GPU"))
    return tuple(gpu._replace(counted=gpu in alike and gpu not in inside) for gpu in gpus), tuple(notes)


def _is_incidental(gpu: Gpu) -> bool:
    """Whether it is a processor's own GPU that was not asked for.

    A Ryzen's graphics beside a Radeon are listed by every tool, so specifying them means little; `--only` does count.
    """
    return gpu.integrated and (gpu.source != "given" or gpu.vendor == "amd")


def without_hidden(machine: Machine) -> Machine:
    hidden = [gpu for gpu in machine.counted if not gpu.visible]
    # The note that the variable hides some and that all count is no longer true.
    notes = tuple(note for note in machine.notes if note.code != "CUDA_VISIBLE_DEVICES")
    if not hidden:
        return machine._replace(notes=notes)
    text = f"{labels(hidden)}: hidden by CUDA_VISIBLE_DEVICES and left out (--gpus visible)"
    return machine._replace(
        gpus=tuple(gpu._replace(counted=gpu.counted and gpu.visible) for gpu in machine.gpus),
        notes=(*notes, Note("NOT_VISIBLE_LEFT_OUT", text)),
    )


def only_gpus(machine: Machine, only: Sequence[int]) -> Machine:
    """A given index counts, even if its GPU would have been left out as another vendor's."""
    gpus = {gpu.index: gpu for gpu in machine.gpus}
    unknown = [str(index) for index in only if index not in gpus]
    if unknown:
        has = f"has GPU {', '.join(map(str, gpus))}" if gpus else "has no GPU"
        raise UsageError(f"--only {','.join(unknown)}: this machine {has}", hint="run `torchpick detect`")
    vendors = {gpus[index].vendor for index in only}
    if len(vendors) > 1:
        raise UsageError(
            f"--only {','.join(map(str, only))}: GPUs of {' and '.join(sorted(vendors))}, and no build supports both",
            hint="select the GPUs of one vendor",
        )
    notes = machine.notes
    if left := [gpu for gpu in machine.counted if gpu.index not in only]:
        notes = (*notes, Note("ONLY_LEFT_OUT", f"{labels(left)}: left out (--only)"))
    # A vendor's silent driver does not matter if another vendor's GPUs are selected.
    trouble = machine.trouble if "nvidia" in vendors else None
    counted = tuple(gpu._replace(counted=gpu.index in only) for gpu in machine.gpus)
    return machine._replace(gpus=counted, notes=notes, trouble=trouble)
