"""This computer, or a specified one, as a Machine: a specified fact replaces the detected one; and which GPUs count."""

from __future__ import annotations

import sys
import time

from torchpick.environment import interpreter
from torchpick.environment.interpreter import Interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError, silent
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import kernel
from torchpick.machine.given import GivenFacts
from torchpick.machine.kernel import LookOptions, Seen
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pythons import version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchpick.errors import Report


_NOTHING = GivenFacts()


def detect(
    facts: GivenFacts = _NOTHING,
    *,
    knowledge: Knowledge | None = None,
    report: Report = silent,
    world: World | None = None,
) -> Machine:
    """The machine; what is specified is not probed.

    `Machine.trouble` is set where a GPU is present and does not answer. Sources that are silent after two
    seconds are reported, once.
    """
    world = world or World.here()
    deadline = time.monotonic() + facts.timeout
    place, notes = _place(facts, world, deadline)
    if facts.gpus is not None:
        machine = Machine(place.platform, place.python, facts.driver, facts.gpus, notes)
    else:
        known = knowledge or Knowledge(world.environ)
        how = LookOptions(world, deadline, known, facts.trust_pci, exact_order=facts.visible_only, report=report)
        seen = look(how, place.platform)
        machine = Machine(
            platform=place.platform,
            python=place.python,
            driver=_told_driver(seen.driver, facts.driver),
            gpus=seen.gpus,
            notes=(*notes, *seen.notes),
            trouble=seen.trouble,
        )
    if not facts.visible_only and not facts.only:
        return machine
    return narrow(machine, visible_only=facts.visible_only, only=facts.only or ())


def _place(facts: GivenFacts, world: World, deadline: float) -> tuple[Interpreter, tuple[Note, ...]]:
    """The interpreter and the platform, as far as they are not specified."""
    told, glibc = facts.platform, facts.glibc
    if told is not None and told.name != interpreter.own(world).platform.name:
        if facts.gpus is None:
            raise UsageError(
                f"`--platform {told.name}` is not this computer's, so its GPUs must be specified",
                hint="add `--gpu sm_86` (or `--gpu none`), or leave out `--platform`",
            )
        return _elsewhere(told, glibc, facts.python, world, deadline)
    place = interpreter.choose(facts.python, world, deadline)
    if told is not None and place.platform.name != told.name:
        place = place._replace(platform=told)
    if place.platform.os == "macos":
        import platform

        told_version = None if told is None else told.macos
        place = place._replace(platform=place.platform._replace(macos=told_version or platform.mac_ver()[0] or None))
    if glibc is not None:
        place = place._replace(platform=place.platform._replace(glibc=glibc, libc="glibc"))
    return place, ()


def _elsewhere(
    told: Platform, glibc: str | None, python: str | None, world: World, deadline: float
) -> tuple[Interpreter, tuple[Note, ...]]:
    """Another platform: nothing of this computer says anything about it, but the Python's version unless specified."""
    platform = told._replace(glibc=glibc)
    notes: tuple[Note, ...] = ()
    if platform.os == "linux" and glibc is None:
        text = "the C library of the specified platform is not checked; specify it with `--glibc 2.28`"
        notes = (Note("GLIBC_ASSUMED", text),)
    version = version_of(python) if python is not None else None
    if python is not None and version is None:
        # A path names an interpreter here, and its version is what counts there.
        return Interpreter(interpreter.choose(python, world, deadline).python, platform), notes
    number, free_threaded = version or (f"{sys.version_info[0]}.{sys.version_info[1]}", False)
    source = "given" if version else "the version of the Python that runs torchpick"
    return Interpreter(Python(number, "cp", free_threaded, None, source), platform), notes


def _told_driver(found: Driver | None, told: Driver | None) -> Driver | None:
    """A specified version also replaces the detected CUDA version, which belongs to the other driver."""
    if told is None or told.version is not None:
        return told or found
    return (found or Driver(None))._replace(cuda=told.cuda, cuda_source=told.cuda_source)


def look(how: LookOptions, platform: Platform) -> Seen:
    """Look for GPUs of every vendor, NVIDIA's first, and say which vendor's count."""
    # A vendor's modules are imported only where there is a sign of it: most machines have one, many have none.
    facts = kernel.read(how.world)
    seen = Seen()
    if facts.vfio or facts.wsl_kernel or kernel.worth_asking(facts, how.world):
        from torchpick.machine import nvidia

        seen = nvidia.look(how, facts)
    if platform.os == "macos" or facts.kfd or any(pci.vendor in (kernel.AMD, kernel.INTEL) for pci in facts.pci):
        from torchpick.machine import non_nvidia

        seen = non_nvidia.look(how, platform, facts, seen)
    trouble = seen.trouble
    others = [str(gpu.index) for gpu in seen.gpus if gpu.counted and gpu.vendor != "nvidia"]
    if trouble is not None and others:
        trouble = trouble._replace(hint=f"{trouble.hint}, or `--only {','.join(others)}` for the other GPU")
    counted, left_out = one_vendor(seen.gpus)
    return seen._replace(gpus=counted, notes=(*seen.notes, *left_out), trouble=trouble)


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
