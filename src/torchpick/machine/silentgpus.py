"""Why a GPU that is present does not answer, and what a user should know beside those that do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.indexes import first_remedies
from torchpick.machine.kernel import NVIDIA, KernelFacts, PciGpu
from torchpick.machine.probe import Device, DriverReading
from torchpick.model.machine import Driver, Note, Trouble
from torchpick.model.versions import some_of

_NOUVEAU = frozenset({"nouveau", "nova", "nova_core", "NovaCore"})
# Statuses that only a machine with an NVIDIA GPU gives: no permission, lost, version mismatch, unknown error.
_TELLING = frozenset({4, 15, 18, 999})
# CUDA_ERROR_SYSTEM_DRIVER_MISMATCH and CUDA_ERROR_UNKNOWN in NVML's numbers.
_OF_CUDA = {803: 18, 999: 999}


Readings = Sequence[DriverReading]


def _kinds(readings: Readings) -> set[str]:
    return {reading.failure for reading in readings if reading.failure}


def _codes(readings: Readings) -> set[int]:
    """The statuses of refusals in NVML's numbers; libcuda's are translated."""
    refusals = ((reading.source, reading.code or 0) for reading in readings if reading.failure == "refused")
    return {_OF_CUDA.get(code, 0) if source == "cuda" else code for source, code in refusals}


def _errors(readings: Readings) -> list[int]:
    """The status of each GPU that does not answer, from the most trusted source that names any."""
    errors = ([device.error for device in reading.devices if device.error is not None] for reading in readings)
    return next(filter(None, errors), [])


def _texts(readings: Readings, *kinds: str) -> str:
    """What the failures of these kinds say, or all of them."""
    texts = [reading.text for reading in readings if reading.failure and (reading.failure in kinds or not kinds)]
    return "; ".join(texts) or "no source of facts is there"


def _gpus(facts: KernelFacts) -> str:
    return f"{count(len(facts.nvidia))} ({addresses(facts.nvidia)})" if facts.nvidia else "an NVIDIA GPU"


def is_gpu_there(facts: KernelFacts, readings: Readings) -> bool:
    """Whether an NVIDIA GPU is there, as far as that is known without its driver."""
    of_kernel = facts.nvidia or facts.nodes or facts.tegra or facts.wsl_driver
    of_driver = any(reading.devices for reading in readings) or _codes(readings) & _TELLING
    return bool(of_kernel or of_driver or _kinds(readings) & {"hangs", "crashed", "silent", "unasked"})


def not_passed_in(facts: KernelFacts) -> bool:
    """A container that sees the host's GPUs on the bus but cannot use them; no library need be asked."""
    return facts.container and bool(facts.nvidia) and not (facts.nodes or facts.wsl or facts.tegra)


def why(facts: KernelFacts, readings: Readings, knowledge: Knowledge) -> Trouble:
    """The cause that fits best, and what to do by the table of causes."""
    code, text = next(chain(_said_by_the_driver(facts, readings), _shown_by_the_kernel(facts, readings, knowledge)))
    archs = {knowledge.pci_capability(pci.device) for pci in facts.nvidia}
    ways = ["specify the GPU (`--gpu sm_86`)", "`--gpu none` for the CPU build"]
    if archs and None not in archs:
        ways.insert(0, f"`--trust-pci` to read {', '.join(sorted(map(str, archs)))} from the PCI id")
    remedy = knowledge.file("errors.json", first_remedies)[code]
    return Trouble(code, text, f"{remedy}, or {', or '.join(ways)}")


def _said_by_the_driver(facts: KernelFacts, readings: Readings) -> Iterator[tuple[str, str]]:
    """The surest causes first: what the driver itself says."""
    kinds, errors = _kinds(readings), _errors(readings)
    if not_passed_in(facts):
        text = f"this container sees {_gpus(facts)} on the PCI bus but has no /dev/nvidia0: the GPU was not passed in"
        yield "GPU_NOT_PASSED_IN", text
    if 18 in _codes(readings):  # the files are of another version than the loaded module
        runs = f": the kernel still runs {facts.version}" if facts.version else ""
        yield "DRIVER_MISMATCH", f"the NVIDIA driver was updated, but the old kernel module is still loaded{runs}"
    if "hangs" in kinds:
        yield "DRIVER_HANGS", _texts(readings, "hangs")
    if errors and all(error == 4 for error in errors):
        gpus = "the GPU" if len(errors) == 1 else f"all {len(errors)} GPUs"
        yield "NO_PERMISSION", f"the driver refuses {gpus} to this user or job"
    if errors:
        yield "GPU_LOST", f"the driver has lost {count(len(errors))} (status {errors[0]})"
    if kinds & {"crashed", "silent"}:
        yield "DRIVER_CRASHED", _texts(readings, "crashed", "silent")
    if "stub" in kinds:
        yield "STUB_LIBRARY", "the NVIDIA library found is the CUDA toolkit's stub, which is only for linking"
    if any(reading.answering for reading in readings):
        yield "NO_CAPABILITY", "the NVIDIA driver answers, but no source gives the GPU's compute capability"


def _shown_by_the_kernel(facts: KernelFacts, readings: Readings, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """What is left where the driver says nothing of use."""
    failures, kinds = _texts(readings), _kinds(readings)
    libraries_absent = kinds <= {"absent", "unusable"}
    version = facts.version or next((reading.driver for reading in readings if reading.driver), None)
    bound = {pci.bound for pci in facts.nvidia}
    if bound and bound <= _NOUVEAU:
        yield "NOUVEAU_BOUND", f"{_gpus(facts)}: bound to the {bound.pop()} driver, which has no CUDA"
    branches = [dropped_by(pci, version, knowledge) for pci in facts.nvidia]
    if branches and None not in branches:
        text = f"driver {version} no longer supports {_gpus(facts)}; {branches[0]} is the last branch that does"
        yield "DRIVER_DROPPED_GPU", text
    if 4 in _codes(readings) or not facts.permitted:
        yield "NO_PERMISSION", "the device nodes /dev/nvidia* exist but may not be opened"
    if facts.wsl:
        yield "WSL_DRIVER", f"WSL2: the NVIDIA driver does not answer ({failures})"
    if facts.tegra:
        yield "JETSON_SILENT", f"a Jetson whose GPU does not answer ({failures})"
    if "unasked" in kinds:
        text = f"there is a driver library, but no process could be started to query it ({_texts(readings, 'unasked')})"
        yield "PROBE_NOT_STARTED", text
    if not facts.module and libraries_absent:
        yield "DRIVER_MISSING", f"{_gpus(facts)}: no NVIDIA driver is installed"
    if not facts.module:
        text = f"NVIDIA's libraries are installed but their kernel module is not loaded ({failures})"
        yield "MODULE_NOT_LOADED", text
    if libraries_absent:
        text = f"the kernel runs NVIDIA driver {version or 'of unknown version'}, but its libraries are not here"
        yield "LIBRARY_MISSING", f"{text} ({failures})"
    yield "DRIVER_SILENT", f"the NVIDIA driver does not answer ({failures})"


def dropped_by(pci: PciGpu, version: str | None, knowledge: Knowledge) -> int | None:
    """The last branch that supports the GPU, if the driver's is a later one."""
    arch = knowledge.pci_capability(pci.device)
    return None if arch is None or version is None else knowledge.rules.drivers.dropped_by(Driver(version), arch)


def addresses(gpus: Sequence[PciGpu]) -> str:
    return some_of([pci.address for pci in gpus], 8)


def count(number: int) -> str:
    return "one NVIDIA GPU" if number == 1 else f"{number} NVIDIA GPUs"


def earlier_failures(readings: Sequence[DriverReading], source: str | None) -> list[Note]:
    """Sources that were tried before the one that answered, and how they failed; absence is not reported."""
    notes = []
    for reading in readings:
        if reading.source == source:
            break
        if reading.failure not in ("", "absent"):
            instead = f"; the GPUs are those that {source} lists" if source else ""
            notes.append(Note(f"{reading.source}_{reading.failure}".upper(), f"{reading.text}{instead}"))
    return notes


def silent_gpus(
    facts: KernelFacts,
    readings: Sequence[DriverReading],
    answering: Sequence[Device],
    driver: Driver | None,
    knowledge: Knowledge,
) -> list[Note]:
    """GPUs beside the ones that answer: lost, forbidden, or on the bus and not driven."""
    errors = _errors([next(reading for reading in readings if reading.answering)])
    rest = _unanswered(facts, answering)
    notes = []
    if errors:
        named = f" ({addresses(rest)})" if len(rest) == len(errors) else ""
        text = f"the driver has lost {count(len(errors))}{named} (status {max(errors)}); left out until a reboot"
        code = "GPU_LOST"
        if all(error == 4 for error in errors):
            text, code = f"{count(len(errors))}{named} may not be used by this user or job; left out", "GPU_FORBIDDEN"
        notes.append(Note(code, text))
    if len(rest) <= len(errors):
        return notes
    version = driver.version if driver else None
    for pci in rest:
        what = "on the PCI bus, but the driver does not list it (not supported, or not passed into this container)"
        if dropped_by(pci, version, knowledge):
            what = f"driver {version} no longer supports it"
        notes.append(Note("GPU_NOT_SERVED", f"the NVIDIA GPU at {pci.address}: {what}; left out"))
    return notes


def _unanswered(facts: KernelFacts, answering: Sequence[Device]) -> list[PciGpu]:
    answered = {device.pci for device in answering}
    rest = [pci for pci in facts.nvidia if pci.address not in answered]
    # Without addresses, or with addresses of another kind (Windows), none can be told from another.
    return [] if len(rest) + len(answering) > len(facts.nvidia) else rest


def bystanders(facts: KernelFacts) -> list[Note]:
    """GPUs that are given to a virtual machine."""
    notes = []
    vfio = [gpu for gpu in facts.pci if gpu.vendor == NVIDIA and gpu.bound == "vfio-pci"]
    if vfio:
        text = f"{count(len(vfio))} ({addresses(vfio)}): bound to vfio-pci, so not this machine's"
        notes.append(Note("GPU_BOUND_TO_VFIO", text))
    return notes
