"""The NVIDIA side of this computer: which sources to ask, what their readings amount to, and which GPUs CUDA shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchpick.environment.world import World
from torchpick.machine import kernel, probe, reasons
from torchpick.machine.driver_reading import Device, DriverReading
from torchpick.machine.kernel import KernelFacts, LookOptions, Seen
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Note
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers


class SourcedDevice(Noun):
    """A GPU that answered, and the source of its capability."""

    device: Device
    source: str


def look(how: LookOptions, facts: KernelFacts) -> Seen:
    """Ask whatever there is to ask; nothing is started where nothing of NVIDIA is seen."""
    world = how.world
    readings: list[DriverReading] = []
    if not reasons.not_passed_in(facts):
        sources = {"nvml": kernel.candidates(kernel.NVML, world), "cuda": kernel.candidates(kernel.CUDA, world)}
        steps = [probe.library_step(source, libraries) for source, libraries in sources.items() if libraries]
        exact_order = how.exact_order and "CUDA_VISIBLE_DEVICES" in world.environ
        readings = probe.ask(steps, how.deadline, lambda told: enough(told, facts, exact_order=exact_order), how.report)
    return judge(facts, readings, how)


def enough(readings: Sequence[DriverReading], facts: KernelFacts, *, exact_order: bool) -> bool:
    """Whether no further source could add a fact that is missing; the order of the GPUs is known to libcuda alone."""
    found = merge(readings)
    if not found or any(each.device.capability is None for each in found):
        return False
    is_asked = any(reading.source == "cuda" for reading in readings)
    return is_asked or not (exact_order or _cuda(readings) is None or _compat(readings, facts))


def merge(readings: Sequence[DriverReading]) -> list[SourcedDevice]:
    """The GPUs of the most trusted source that sees any; what it does not know of one is taken from the next."""
    sources = [reading for reading in readings if reading.answering]
    if not sources:
        return []
    base, *others = sources
    found = []
    for device in base.answering:
        source = base.source
        for other in others:
            twin = match(device, base.answering, other.answering)
            if twin is None:
                continue
            if device.capability is None and twin.capability is not None:
                source = other.source
            device = device._replace(  # noqa: PLW2901
                capability=device.capability or twin.capability,
                name=device.name or twin.name,
                uuid=device.uuid or twin.uuid,
                pci=device.pci or twin.pci,
            )
        found.append(SourcedDevice(device, source))
    return found


def match(device: Device, mine: Sequence[Device], theirs: Sequence[Device]) -> Device | None:
    """The same GPU in another source's list: by UUID, by PCI address, or because there is only one."""
    for key in ("uuid", "pci"):
        value = getattr(device, key)
        same = [other for other in theirs if value is not None and getattr(other, key) == value]
        if len(same) == 1:
            return same[0]
    return theirs[0] if len(mine) == len(theirs) == 1 else None


def judge(facts: KernelFacts, readings: Sequence[DriverReading], how: LookOptions) -> Seen:
    """What the facts and the readings amount to; asks nobody."""
    found = merge(readings)
    driver, notes = _driver(facts, readings)
    known = [each for each in found if each.device.capability is not None]
    if not known:
        return _without_answer(facts, readings, driver, how)
    gpus: list[Gpu] = []
    for each in found:
        device = each.device
        arch = None if device.capability is None else Arch.of_capability(*device.capability)
        if arch is None:
            text = f"{device.name or device.pci or 'a GPU'}: no source gives its compute capability, so it is left out"
            notes.append(Note("CAPABILITY_UNKNOWN", text))
        gpus.append(
            Gpu(
                index=len(gpus),
                vendor="nvidia",
                name=device.name,
                arch=arch,
                uuid=device.uuid,
                pci=device.pci,
                integrated=facts.tegra is not None and not facts.nvidia,
                counted=arch is not None,
                source=each.source,
            )
        )
    notes += reasons.earlier_failures(readings, gpus[0].source)
    notes += reasons.silent_gpus(facts, readings, [each.device for each in found], driver, how.knowledge)
    notes += reasons.bystanders(facts)
    gpus, more = _apply_visible(gpus, [each.device for each in found], readings, how.world)
    return Seen(tuple(gpus), driver, (*notes, *more))


def _without_answer(
    facts: KernelFacts, readings: Sequence[DriverReading], driver: Driver | None, how: LookOptions
) -> Seen:
    notes = tuple(reasons.bystanders(facts))
    symptoms = reasons.Symptoms(facts, tuple(readings), how.knowledge)
    if not symptoms.are_of_a_gpu:
        return Seen(driver=driver, notes=(*notes, *reasons.earlier_failures(readings, None)))
    capability = how.knowledge.pci_capability if how.trust_pci else lambda _: None
    gpus = tuple(
        Gpu(index, "nvidia", None, capability(pci.device), pci=pci.address, source="pci")
        for index, pci in enumerate(facts.nvidia)
    )
    if not gpus and facts.tegra is not None:
        gpus = (Gpu(0, "nvidia", f"NVIDIA {facts.tegra}", None, integrated=True, source="device-tree"),)
    if how.trust_pci and gpus and all(gpu.arch for gpu in gpus):
        text = "the compute capability is from the PCI id (--trust-pci), as the driver did not answer"
        return Seen(gpus, driver, (*notes, Note("PCI_TRUSTED", text)))
    return Seen(gpus, driver, notes, reasons.why(symptoms))


def _driver(facts: KernelFacts, readings: Sequence[DriverReading]) -> tuple[Driver | None, list[Note]]:
    """The driver's version and the CUDA it speaks, each from the most trusted source that knows it."""
    notes: list[Note] = []
    version, source = next(
        ((reading.driver, reading.source) for reading in readings if reading.driver),
        (facts.version, kernel.VERSION),
    )
    speaker = _cuda(readings)
    cuda, cuda_source = (speaker.cuda, speaker.source) if speaker else (None, None)
    if _compat(readings, facts):
        # The number is the user's libcuda's, which the kernel driver carries only where cuInit says so.
        answer = next((reading for reading in readings if reading.source == "cuda"), None)
        if answer is not None and answer.failure is None:
            cuda, cuda_source = answer.cuda, "cuda"
            text = f"CUDA {cuda} comes from a forward-compatibility libcuda over driver {version}"
            notes.append(Note("CUDA_COMPAT", text))
        else:
            why = answer.failure.text if answer is not None and answer.failure else "it was not asked"
            text = f"a libcuda of another version (CUDA {cuda}) is installed over driver {version} but fails: {why}"
            notes.append(Note("CUDA_COMPAT_REFUSED", text))
            cuda = cuda_source = None
    if facts.tegra is not None and not facts.nvidia and version is not None and numbers(version)[0] < 580:
        # JetPack 6 reports 540.4.0, which no desktop driver's rule fits; from 580 (JetPack 7) the drivers are one.
        text = f"a Jetson's driver {version} is not numbered like desktop drivers; CUDA {cuda or 'unknown'} decides"
        notes.append(Note("JETSON", text))
        version = None
    if version is None and cuda is None:
        cuda, cuda_source = facts.jetson_cuda, kernel.JETSON_LINUX
    if facts.wsl and version is not None:
        notes.append(Note("WSL", f"WSL2: the driver is that of Windows, {version}"))
    if version is None and cuda is None:
        return None, notes
    # Under WSL2 it is the Windows driver that decides, so the Windows column of the tables counts.
    return Driver(version, cuda, source if version else "unknown", cuda_source, "windows" if facts.wsl else None), notes


def _cuda(readings: Sequence[DriverReading]) -> DriverReading | None:
    return next((reading for reading in readings if reading.cuda), None)


def _compat(readings: Sequence[DriverReading], facts: KernelFacts) -> bool:
    """Whether the CUDA version is that of a libcuda which is not the kernel driver's own (cuda-compat)."""
    speaker = _cuda(readings)
    version = next((reading.driver for reading in readings if reading.driver), facts.version)
    if speaker is None or speaker.libcuda is None or version is None or facts.wsl:
        return False
    return numbers(speaker.libcuda) != numbers(version)


def _apply_visible(
    gpus: list[Gpu], devices: Sequence[Device], readings: Sequence[DriverReading], world: World
) -> tuple[list[Gpu], list[Note]]:
    """Mark the GPUs that CUDA_VISIBLE_DEVICES hides; nothing but the mark changes."""
    value = world.environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return gpus, []
    order = _cuda_order(devices, readings, world)
    places = shown(value, [device.uuid for device in devices], order)
    quoted = f"CUDA_VISIBLE_DEVICES={value[:200]}"
    if places is None:
        text = f"{quoted} names instances, or GPUs by CUDA's own order, which is not known here; all count as visible"
        return gpus, [Note("VISIBLE_ORDER_UNKNOWN", text)]
    if len(places) == len(gpus):
        return gpus, []
    marked = [gpu._replace(visible=place in places) for place, gpu in enumerate(gpus)]
    text = f"{quoted} shows {len(places)} of {len(gpus)} GPUs; all of them count unless --gpus visible"
    return marked, [Note("CUDA_VISIBLE_DEVICES", text)]


def _cuda_order(devices: Sequence[Device], readings: Sequence[DriverReading], world: World) -> list[int] | None:
    """The places of the GPUs as CUDA counts them; by default the fastest is first, which only libcuda knows."""
    are_alike = len({(device.name, device.capability) for device in devices}) == 1
    if are_alike or world.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return list(range(len(devices)))
    answer = next((reading for reading in readings if reading.source == "cuda" and reading.answering), None)
    if answer is None:
        return None
    twins = [match(device, answer.answering, devices) for device in answer.answering]
    return [devices.index(twin) for twin in twins if twin is not None] if None not in twins else None


# Read like strtoul: `1gpu` is 1.
_INDEX = re.compile(r"\s*\+?(\d{1,9})")


def shown(value: str, gpus: Sequence[str | None], order: Sequence[int] | None) -> frozenset[int] | None:
    """Which of the GPUs (by their UUIDs) CUDA_VISIBLE_DEVICES shows; `order` is their sequence as CUDA counts them.

    None where it cannot be known: it names instances (MIG), or indices where CUDA's order (the fastest first) is not
    known. Anything invalid ends the list, and what comes twice empties it: CUDA programming guide, environment
    variables; torch's own tests of `torch.cuda._parse_visible_devices`.
    """
    words = [word.strip() for word in value.split(",")[:1000]]
    if words[0].startswith("MIG-"):
        return None
    if words[0].startswith("GPU-"):
        return _distinct([_named(word, gpus) for word in words])
    places = _distinct([_numbered(word, len(gpus)) for word in words])
    if len(places) in (0, len(gpus)):
        return places
    return None if order is None else frozenset(order[place] for place in places if place < len(order))


def _distinct(places: Sequence[int | None]) -> frozenset[int]:
    listed = places[: places.index(None)] if None in places else places
    found = frozenset(place for place in listed if place is not None)
    return found if len(found) == len(listed) else frozenset()


def _named(word: str, gpus: Sequence[str | None]) -> int | None:
    """The one GPU whose UUID begins so; an index or another kind of name does not mix."""
    places = [place for place, uuid in enumerate(gpus) if uuid is not None and uuid.startswith(word)]
    return places[0] if word.startswith("GPU-") and len(places) == 1 else None


def _numbered(word: str, count: int) -> int | None:
    match = _INDEX.match(word)
    return int(match[1]) if match and int(match[1]) < count else None
