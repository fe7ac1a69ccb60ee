"""What a user should know beside the GPUs that answer: sources that failed, GPUs that are left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.knowledge.compat import Knowledge
from torchpick.machine.kernel import KernelFacts
from torchpick.machine.reading import Device, DriverReading
from torchpick.machine.reasons import addresses, count, dropped_by
from torchpick.machine.seen import PciGpu
from torchpick.model.machine import Driver, Note


def earlier_failures(readings: Sequence[DriverReading], source: str | None) -> list[Note]:
    """Sources that were tried before the one that answered, and how they failed; absence is not reported."""
    notes = []
    for reading in readings:
        if reading.source == source:
            break
        failure = reading.failure
        if failure is not None and failure.kind != "absent":
            instead = f"; the GPUs are those that {source} lists" if source else ""
            notes.append(Note(f"{reading.source}_{failure.kind}".upper(), f"{failure.text}{instead}"))
    return notes


def silent_gpus(
    facts: KernelFacts,
    readings: Sequence[DriverReading],
    answering: Sequence[Device],
    driver: Driver | None,
    knowledge: Knowledge,
) -> list[Note]:
    """GPUs beside the ones that answer: lost, forbidden, or on the bus and not driven."""
    base = next(reading for reading in readings if reading.answering)
    errors = [device.error for device in base.devices if device.error is not None]
    rest = _unanswered(facts, answering)
    if not errors:
        return _unserved(facts, rest, readings, driver, knowledge)
    named = f" ({_names(rest, readings)})" if len(rest) == len(errors) else ""
    lost = [error for error in errors if error != 4]
    notes = []
    if lost:
        text = f"the driver has lost {count(len(lost))}{named} (status {lost[0]}); left out until a reboot"
        notes.append(Note("GPU_LOST", text))
    if len(lost) < len(errors):
        text = f"{count(len(errors) - len(lost))}{named} may not be used by this user or job; left out"
        notes.append(Note("GPU_FORBIDDEN", text))
    return notes if len(rest) <= len(errors) else notes + _unserved(facts, rest, readings, driver, knowledge)


def _unanswered(facts: KernelFacts, answering: Sequence[Device]) -> list[PciGpu]:
    known = {device.pci for device in answering}
    rest = [pci for pci in facts.nvidia if pci.address not in known]
    # Without addresses, or with addresses of another kind (Windows), none can be told from another.
    return [] if None in known or len(rest) + len(answering) > len(facts.nvidia) else rest


def _unserved(
    facts: KernelFacts,
    rest: Sequence[PciGpu],
    readings: Sequence[DriverReading],
    driver: Driver | None,
    knowledge: Knowledge,
) -> list[Note]:
    version = driver.version if driver else None
    dropped = [pci for pci in rest if dropped_by(pci, version, knowledge)]
    others = [pci for pci in rest if pci not in dropped]
    notes = []
    if dropped:
        text = f"driver {version} no longer supports the GPU at {_names(dropped, readings)}; left out"
        notes.append(Note("GPU_NOT_SERVED", text))
    if others:
        place = "was not passed into this container or is not supported" if facts.container else "is not supported"
        text = f"on the PCI bus, {_names(others, readings)} {place} by the driver; left out"
        notes.append(Note("GPU_NOT_SERVED", text))
    return notes


def bystanders(facts: KernelFacts) -> list[Note]:
    """GPUs that are given to a virtual machine, and a WSL2 container without its GPU device."""
    notes = []
    if facts.vfio:
        text = f"{count(len(facts.vfio))} ({addresses(facts.vfio)}): bound to vfio-pci, so not this machine's"
        notes.append(Note("GPU_BOUND_TO_VFIO", text))
    if facts.wsl_kernel and facts.container and not facts.wsl:
        text = "a container under WSL2 without /dev/dxg: a GPU of the Windows host, if it has one, was not passed in"
        notes.append(Note("WSL_GPU_NOT_PASSED_IN", text))
    return notes


def _names(gpus: Sequence[PciGpu], readings: Sequence[DriverReading]) -> str:
    named = {device.pci: device.name for reading in readings for device in reading.devices if device.name}
    words = [f"{pci.address} ({named[pci.address]})" if pci.address in named else pci.address for pci in gpus]
    return ", ".join(words[:8]) + (f" and {len(words) - 8} more" if len(words) > 8 else "")
