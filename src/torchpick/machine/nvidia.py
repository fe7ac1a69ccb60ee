"""The NVIDIA side of this computer: which sources to ask, what their readings amount to, and which GPUs CUDA shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from torchpick.environment.world import World
from torchpick.machine import kernel, probe, silentgpus
from torchpick.machine.kernel import KernelFacts, LookOptions, Seen
from torchpick.machine.probe import Device, DriverReading
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Note
from torchpick.model.versions import numbers


def look(how: LookOptions, facts: KernelFacts) -> Seen:
    """Ask whatever there is to ask; nothing is started where nothing of NVIDIA is seen."""
    world = how.world
    readings: list[DriverReading] = []
    if not silentgpus.not_passed_in(facts):
        libraries = {"nvml": kernel.candidates(kernel.NVML, world), "cuda": kernel.candidates(kernel.CUDA, world)}
        sources = {source: partial(probe.start, source, paths) for source, paths in libraries.items() if paths}
        exact_order = how.exact_order and "CUDA_VISIBLE_DEVICES" in world.environ
        is_enough = partial(enough, facts=facts, exact_order=exact_order)
        readings = probe.ask(sources, how.deadline, is_enough)
    return judge(facts, readings, how)


def enough(readings: Sequence[DriverReading], facts: KernelFacts, *, exact_order: bool) -> bool:
    """Whether no further source could add a fact that is missing; the order of the GPUs is known to libcuda alone."""
    devices = [device for device, _ in merge(readings)]
    if not devices or any(device.capability is None for device in devices):
        return False
    is_asked = any(reading.source == "cuda" for reading in readings)
    return is_asked or not (exact_order or _cuda(readings) is None or _compat(readings, facts))


def merge(readings: Sequence[DriverReading]) -> list[tuple[Device, str]]:
    """The GPUs of the most trusted source that sees any, each with the source of its capability.

    What that source does not know of a GPU is taken from the next.
    """
    answering = [reading for reading in readings if reading.answering]
    if not answering:
        return []
    base, *others = answering
    devices = []
    for first in base.answering:
        device, source = first, base.source
        for other in others:
            twin = match(device, base.answering, other.answering)
            if twin is not None:
                if device.capability is None and twin.capability is not None:
                    source = other.source
                device = Device._make(ours or theirs for ours, theirs in zip(device, twin, strict=True))
        devices.append((device, source))
    return devices


def match(device: Device, siblings: Sequence[Device], others: Sequence[Device]) -> Device | None:
    """The same GPU in another source's list: by UUID, by PCI address, or because there is only one."""
    for key in ("uuid", "pci"):
        value = getattr(device, key)
        same = [other for other in others if value is not None and getattr(other, key) == value]
        if len(same) == 1:
            return same[0]
    return others[0] if len(siblings) == len(others) == 1 else None


def judge(facts: KernelFacts, readings: Sequence[DriverReading], how: LookOptions) -> Seen:
    """What the facts and the readings amount to; asks nobody."""
    merged = merge(readings)
    devices = [device for device, _ in merged]
    driver, notes = _driver(facts, readings)
    if not any(device.capability for device in devices):
        return _without_answer(facts, readings, driver, how)
    gpus: list[Gpu] = []
    for device, source in merged:
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
                source=source,
            )
        )
    notes += silentgpus.earlier_failures(readings, gpus[0].source)
    notes += silentgpus.silent_gpus(facts, readings, devices, driver, how.knowledge)
    notes += silentgpus.bystanders(facts)
    gpus, more = _apply_visible(gpus, devices, readings, how.world)
    return Seen(tuple(gpus), driver, (*notes, *more))


def _without_answer(
    facts: KernelFacts, readings: Sequence[DriverReading], driver: Driver | None, how: LookOptions
) -> Seen:
    notes = tuple(silentgpus.bystanders(facts))
    if not silentgpus.is_gpu_there(facts, readings):
        return Seen(driver=driver, notes=(*notes, *silentgpus.earlier_failures(readings, None)))
    archs = [how.knowledge.pci_capability(pci.device) if how.trust_pci else None for pci in facts.nvidia]
    gpus = tuple(
        Gpu(index, "nvidia", None, arch, pci=pci.address, source="pci")
        for index, (pci, arch) in enumerate(zip(facts.nvidia, archs, strict=True))
    )
    if not gpus and facts.tegra is not None:
        gpus = (Gpu(0, "nvidia", f"NVIDIA {facts.tegra}", None, integrated=True, source="device-tree"),)
    if gpus and all(gpu.arch for gpu in gpus):
        text = "the compute capability is from the PCI id (--trust-pci), as the driver did not answer"
        return Seen(gpus, driver, (*notes, Note("PCI_TRUSTED", text)))
    return Seen(gpus, driver, notes, silentgpus.why(facts, readings, how.knowledge))


def _driver(facts: KernelFacts, readings: Sequence[DriverReading]) -> tuple[Driver | None, list[Note]]:
    """The driver's version and the CUDA that it supports, each from the most trusted source that knows it."""
    notes: list[Note] = []
    version, source = next(
        ((reading.driver, reading.source) for reading in readings if reading.driver),
        (facts.version, kernel.VERSION),
    )
    reading = _cuda(readings)
    cuda, cuda_source = (reading.cuda, reading.source) if reading else (None, None)
    if _compat(readings, facts):
        # The number is the user's libcuda's, which the kernel driver carries only where cuInit says so.
        answer = next((reading for reading in readings if reading.source == "cuda"), None)
        if answer is not None and not answer.failure:
            cuda, cuda_source = answer.cuda, "cuda"
            text = f"CUDA {cuda} comes from a forward-compatibility libcuda over driver {version}"
            notes.append(Note("CUDA_COMPAT", text))
        else:
            why = answer.text if answer is not None else "it was not asked"
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
    reading = _cuda(readings)
    version = next((reading.driver for reading in readings if reading.driver), facts.version)
    if reading is None or reading.libcuda is None or version is None or facts.wsl:
        return False
    return numbers(reading.libcuda) != numbers(version)


def _apply_visible(
    gpus: list[Gpu], devices: Sequence[Device], readings: Sequence[DriverReading], world: World
) -> tuple[list[Gpu], list[Note]]:
    """Mark the GPUs that CUDA_VISIBLE_DEVICES hides; nothing but the mark changes."""
    value = world.environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return gpus, []
    indices = shown(value, [device.uuid for device in devices], _cuda_order(devices, readings, world))
    quoted = f"CUDA_VISIBLE_DEVICES={value[:200]}"
    if indices is None:
        text = f"{quoted} names instances, or GPUs by CUDA's own order, which is not known here; all count as visible"
        return gpus, [Note("VISIBLE_ORDER_UNKNOWN", text)]
    if len(indices) == len(gpus):
        return gpus, []
    text = f"{quoted} shows {len(indices)} of {len(gpus)} GPUs; all of them count unless --gpus visible"
    return [gpu._replace(visible=gpu.index in indices) for gpu in gpus], [Note("CUDA_VISIBLE_DEVICES", text)]


def _cuda_order(devices: Sequence[Device], readings: Sequence[DriverReading], world: World) -> list[int] | None:
    """The indices of the GPUs as CUDA counts them; by default the fastest is first, which only libcuda knows."""
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


def shown(value: str, uuids: Sequence[str | None], order: Sequence[int] | None) -> frozenset[int] | None:
    """Which of the GPUs (by their UUIDs) CUDA_VISIBLE_DEVICES shows; `order` is their sequence as CUDA counts them.

    None where it cannot be known: it names instances (MIG), or indices where CUDA's order (the fastest first) is not
    known. Anything invalid ends the list, and what comes twice empties it: CUDA programming guide, environment
    variables; torch's own tests of `torch.cuda._parse_visible_devices`.
    """
    words = [word.strip() for word in value.split(",")[:1000]]
    if words[0].startswith("MIG-"):
        return None
    by_uuid = words[0].startswith("GPU-")
    indices: list[int] = []
    for word in words:
        if by_uuid:  # the one GPU whose UUID begins so; an index or another kind of name does not mix
            meant = [index for index, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(word)]
            meant = meant if word.startswith("GPU-") else []
        else:
            meant = [int(part[1])] if (part := _INDEX.match(word)) and int(part[1]) < len(uuids) else []
        if len(meant) != 1:
            break
        indices += meant
    distinct = frozenset(indices)
    if len(distinct) < len(indices):
        return frozenset()
    if by_uuid or len(distinct) in (0, len(uuids)):
        return distinct
    return None if order is None else frozenset(order[index] for index in distinct if index < len(order))
