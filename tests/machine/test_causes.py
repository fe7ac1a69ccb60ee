"""Why a GPU does not answer, and what is said of those beside the ones that do: from each combination of facts."""

from __future__ import annotations

from typing import Any

import pytest

from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.indexes import first_remedies
from torchpick.machine import kernel, probe, reasons
from torchpick.machine.kernel import KernelFacts, PciGpu
from torchpick.machine.probe import Device, DriverReading, Failure
from torchpick.machine.reasons import Symptoms
from torchpick.model.machine import Driver

# By the table: a GTX 1080 Ti and a P40, which end with driver 580, an RTX 3090, and a chip that nobody knows.
PASCAL, OTHER = PciGpu("0000:01:00.0", 0x10DE, 0x1B06, "nvidia"), PciGpu("0000:02:00.0", 0x10DE, 0x1B38, "nvidia")
AMPERE, UNKNOWN = PciGpu("0000:03:00.0", 0x10DE, 0x2204, "nvidia"), PciGpu("0000:04:00.0", 0x10DE, 0xFFFF, "nvidia")
RADEON = PciGpu("0000:05:00.0", 0x1002, 0x744C, "amdgpu")
FACTS = KernelFacts("580.95.05", module=True, pci=(PASCAL,), nodes=("nvidia0",))
BARE = KernelFacts(pci=(PASCAL,))


def nvml(kind: str, text: str = "it is so", code: int | None = None) -> DriverReading:
    return DriverReading("nvml", failure=Failure(kind, text, code))


def cuda(kind: str, text: str = "and so", code: int | None = None) -> DriverReading:
    return DriverReading("cuda", failure=Failure(kind, text, code))


LOST, FORBIDDEN, FINE = Device(error=15), Device(error=4), Device(capability=(6, 1))
CAUSES: list[tuple[KernelFacts, list[DriverReading], str, str]] = [
    (BARE._replace(container=True), [], "GPU_NOT_PASSED_IN",
     "this container sees one NVIDIA GPU (0000:01:00.0) on the PCI bus but has no /dev/nvidia0: the GPU was not "
     "passed in"),
    (BARE._replace(container=True, pci=(RADEON,)), [], "DRIVER_MISSING",
     "an NVIDIA GPU: no NVIDIA driver is installed"),
    (FACTS, [nvml("refused", code=18)], "DRIVER_MISMATCH",
     "the NVIDIA driver was updated, but the old kernel module is still loaded: the kernel still runs 580.95.05"),
    (FACTS._replace(version=None), [cuda("refused", code=803)], "DRIVER_MISMATCH",
     "the NVIDIA driver was updated, but the old kernel module is still loaded"),
    (FACTS, [nvml("hangs"), cuda("crashed")], "DRIVER_HANGS", "it is so"),
    (FACTS, [DriverReading("nvml", devices=(FORBIDDEN,))], "NO_PERMISSION",
     "the driver refuses the GPU to this user or job"),
    (FACTS, [DriverReading("nvml", devices=(FORBIDDEN, FORBIDDEN))], "NO_PERMISSION",
     "the driver refuses all 2 GPUs to this user or job"),
    (FACTS, [DriverReading("nvml", devices=(LOST, FORBIDDEN))], "GPU_LOST",
     "the driver has lost 2 NVIDIA GPUs (status 15)"),
    (FACTS, [nvml("absent"), DriverReading("cuda", devices=(LOST,)), DriverReading("proc", devices=(FORBIDDEN,))],
     "GPU_LOST",
     "the driver has lost one NVIDIA GPU (status 15)"),
    (FACTS, [nvml("crashed"), cuda("silent")], "DRIVER_CRASHED", "it is so; and so"),
    (FACTS, [nvml("absent"), cuda("silent")], "DRIVER_CRASHED", "and so"),
    (FACTS, [nvml("stub")], "STUB_LIBRARY",
     "the NVIDIA library found is the CUDA toolkit's stub, which is only for linking"),
    (FACTS, [DriverReading("nvml", "580.95.05", devices=(FINE,))], "NO_CAPABILITY",
     "the NVIDIA driver answers, but no source gives the GPU's compute capability"),
    (BARE._replace(pci=(PASCAL._replace(bound="nouveau"), OTHER._replace(bound="nouveau"))), [], "NOUVEAU_BOUND",
     "2 NVIDIA GPUs (0000:01:00.0, 0000:02:00.0): bound to the nouveau driver, which has no CUDA"),
    (BARE._replace(pci=(PASCAL._replace(bound="nova_core"),)), [], "NOUVEAU_BOUND",
     "one NVIDIA GPU (0000:01:00.0): bound to the nova_core driver, which has no CUDA"),
    (BARE._replace(pci=(PASCAL._replace(bound="nouveau"), OTHER)), [], "DRIVER_MISSING",
     "2 NVIDIA GPUs (0000:01:00.0, 0000:02:00.0): no NVIDIA driver is installed"),
    (FACTS._replace(version="595.1", pci=(PASCAL, OTHER)), [nvml("refused", code=9)], "DRIVER_DROPPED_GPU",
     "driver 595.1 no longer supports 2 NVIDIA GPUs (0000:01:00.0, 0000:02:00.0); 580 is the last branch that does"),
    (FACTS._replace(version=None), [DriverReading("nvml", "595.1"), cuda("absent")], "DRIVER_DROPPED_GPU",
     "driver 595.1 no longer supports one NVIDIA GPU (0000:01:00.0); 580 is the last branch that does"),
    (FACTS._replace(version="595.1", pci=(PASCAL, AMPERE)), [nvml("refused", code=9)], "DRIVER_SILENT",
     "the NVIDIA driver does not answer (it is so)"),
    (FACTS, [nvml("refused", code=4)], "NO_PERMISSION", "the device nodes /dev/nvidia* exist but may not be opened"),
    (FACTS._replace(permitted=False), [], "NO_PERMISSION", "the device nodes /dev/nvidia* exist but may not be opened"),
    (BARE._replace(wsl=True), [nvml("absent"), cuda("refused")], "WSL_DRIVER",
     "WSL2: the NVIDIA driver does not answer (it is so; and so)"),
    (KernelFacts(tegra="orin"), [], "JETSON_SILENT",
     "a Jetson whose GPU does not answer (no source of facts is there)"),
    (FACTS, [nvml("unasked", "no room"), cuda("absent")], "PROBE_NOT_STARTED",
     "there is a driver library, but no process could be started to query it (no room)"),
    (BARE, [nvml("absent"), cuda("unusable")], "DRIVER_MISSING",
     "one NVIDIA GPU (0000:01:00.0): no NVIDIA driver is installed"),
    (BARE, [nvml("refused", code=9)], "MODULE_NOT_LOADED",
     "NVIDIA's libraries are installed but their kernel module is not loaded (it is so)"),
    (FACTS, [nvml("absent")], "LIBRARY_MISSING",
     "the kernel runs NVIDIA driver 580.95.05, but its libraries are not here (it is so)"),
    (FACTS._replace(version=None), [nvml("absent")], "LIBRARY_MISSING",
     "the kernel runs NVIDIA driver of unknown version, but its libraries are not here (it is so)"),
    (FACTS, [nvml("refused", code=9), cuda("refused", code=4)], "DRIVER_SILENT",
     "the NVIDIA driver does not answer (it is so; and so)"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "readings", "code", "text"), CAUSES)
def test_the_cause_that_fits_best_is_named_with_what_to_do(
    facts: KernelFacts, readings: list[DriverReading], code: str, text: str
) -> None:
    knowledge = Knowledge({})
    found = reasons.why(Symptoms(facts, tuple(readings), knowledge))

    assert (found.code, found.text) == (code, text)
    remedy = knowledge.file("errors.json", first_remedies)[code]
    assert found.hint.startswith(f"{remedy}, or ")
    assert found.hint.endswith("specify the GPU (`--gpu sm_86`), or `--gpu none` for the CPU build")


@pytest.mark.parametrize(
    ("pci", "offered"),
    [
        ((PASCAL,), "`--trust-pci` to read sm_61 from the PCI id, or "),
        ((AMPERE, PASCAL, OTHER), "`--trust-pci` to read sm_61, sm_86 from the PCI id, or "),
        ((PASCAL, UNKNOWN), ""),
        ((), ""),
    ],
)
def test_the_pci_id_is_offered_where_it_tells_every_gpu(pci: tuple[PciGpu, ...], offered: str) -> None:
    found = reasons.why(Symptoms(FACTS._replace(pci=pci), (), Knowledge({})))

    assert found.hint.endswith(f", or {offered}specify the GPU (`--gpu sm_86`), or `--gpu none` for the CPU build")
    assert ("--trust-pci" in found.hint) == bool(offered)


@pytest.mark.parametrize(
    ("facts", "readings", "is_one"),
    [
        (KernelFacts(), [], False),
        (BARE, [], True),
        (KernelFacts(pci=(RADEON,)), [], False),
        (KernelFacts(nodes=("nvidia0",)), [], True),
        (KernelFacts(tegra="orin"), [], True),
        (KernelFacts(wsl_driver=True), [], True),
        (KernelFacts(wsl=True, module=True), [], False),
        (KernelFacts(), [DriverReading("nvml", devices=(LOST,))], True),
        *((KernelFacts(), [nvml(kind)], kind in ("hangs", "crashed", "silent", "unasked"))
          for kind in ("hangs", "crashed", "silent", "unasked", "absent", "stub", "unusable")),
        *((KernelFacts(), [nvml("refused", code=code)], code in (4, 15, 18, 999)) for code in (None, 4, 9, 12, 15, 18,
         999)),
        *((KernelFacts(), [cuda("refused", code=code)], code in (803, 999)) for code in (4, 15, 18, 100, 803, 999)),
    ],
)  # fmt: skip
def test_a_gpu_is_there_where_only_one_that_is_would_say_so(
    facts: KernelFacts, readings: list[DriverReading], is_one: bool
) -> None:
    assert Symptoms(facts, tuple(readings), Knowledge({})).are_of_a_gpu == is_one


def test_sources_that_failed_before_the_one_that_answers_are_noted() -> None:
    readings = [
        nvml("hangs"),
        DriverReading("proc"),
        cuda("absent"),
        cuda("refused"),
        DriverReading("smi"),
        nvml("crashed"),
    ]

    assert [tuple(note) for note in reasons.earlier_failures(readings, "smi")] == [
        ("NVML_HANGS", "it is so; the GPUs are those that smi lists"),
        ("CUDA_REFUSED", "and so; the GPUs are those that smi lists"),
    ]
    assert [tuple(note) for note in reasons.earlier_failures(readings, None)] == [
        ("NVML_HANGS", "it is so"), ("CUDA_REFUSED", "and so"), ("NVML_CRASHED", "it is so"),
    ]  # fmt: skip


def at(gpu: PciGpu, error: int | None = None) -> Device:
    return Device(pci=gpu.address, error=error)


NOT_LISTED = (
    "on the PCI bus, but the driver does not list it (not supported, or not passed into this container); left out"
)


@pytest.mark.parametrize(
    ("pci", "devices", "driver", "notes"),
    [
        ((PASCAL, AMPERE), (at(PASCAL), at(AMPERE)), None, []),
        ((PASCAL, AMPERE), (at(PASCAL), Device(error=15)), None,
         [("GPU_LOST", "the driver has lost one NVIDIA GPU (0000:03:00.0) (status 15); left out until a reboot")]),
        ((PASCAL, AMPERE, OTHER), (at(PASCAL), Device(error=4), Device(error=4)), None,
         [("GPU_FORBIDDEN",
           "2 NVIDIA GPUs (0000:03:00.0, 0000:02:00.0) may not be used by this user or job; left out")]),
        ((PASCAL, AMPERE, OTHER), (at(PASCAL), Device(error=4), Device(error=15)), None,
         [("GPU_LOST",
          "the driver has lost 2 NVIDIA GPUs (0000:03:00.0, 0000:02:00.0) (status 15); left out until a reboot")]),
        ((PASCAL,), (at(PASCAL), Device(error=15)), None,
         [("GPU_LOST", "the driver has lost one NVIDIA GPU (status 15); left out until a reboot")]),
        ((PASCAL, AMPERE), (at(AMPERE),), Driver("595.1"),
         [("GPU_NOT_SERVED", "the NVIDIA GPU at 0000:01:00.0: driver 595.1 no longer supports it; left out")]),
        ((PASCAL, AMPERE), (at(PASCAL),), Driver("595.1"),
         [("GPU_NOT_SERVED", f"the NVIDIA GPU at 0000:03:00.0: {NOT_LISTED}")]),
        ((PASCAL, AMPERE), (at(AMPERE),), None,
         [("GPU_NOT_SERVED", f"the NVIDIA GPU at 0000:01:00.0: {NOT_LISTED}")]),
        ((PASCAL, AMPERE, OTHER), (at(PASCAL), Device(error=15)), None,
         [("GPU_LOST", "the driver has lost one NVIDIA GPU (status 15); left out until a reboot"),
          ("GPU_NOT_SERVED", f"the NVIDIA GPU at 0000:03:00.0: {NOT_LISTED}"),
          ("GPU_NOT_SERVED", f"the NVIDIA GPU at 0000:02:00.0: {NOT_LISTED}")]),
        ((PASCAL, AMPERE), (Device(),), None, []),
        ((PASCAL, AMPERE), (Device(pci="9:9"),), None, []),
    ],
)  # fmt: skip
def test_gpus_beside_those_that_answer_are_left_out_with_the_reason(
    pci: tuple[PciGpu, ...], devices: tuple[Device, ...], driver: Driver | None, notes: list[tuple[str, str]]
) -> None:
    reading = DriverReading("nvml", devices=devices)
    found = reasons.silent_gpus(
        KernelFacts(pci=pci), [cuda("absent"), reading], reading.answering, driver, Knowledge({})
    )

    assert [tuple(note) for note in found] == notes


def test_gpus_that_are_no_longer_this_machines_are_noted() -> None:
    given = KernelFacts(pci=(PASCAL._replace(bound="vfio-pci"), AMPERE))
    windows = KernelFacts(wsl_kernel=True, container=True)

    assert [tuple(note) for note in reasons.bystanders(given)] == [
        ("GPU_BOUND_TO_VFIO", "one NVIDIA GPU (0000:01:00.0): bound to vfio-pci, so not this machine's")
    ]
    assert [tuple(note) for note in reasons.bystanders(windows)] == [
        ("WSL_GPU_NOT_PASSED_IN",
         "a container under WSL2 without /dev/dxg: a GPU of the Windows host, if it has one, was not passed in")
    ]  # fmt: skip
    for other in (windows._replace(wsl=True), windows._replace(container=False), windows._replace(wsl_kernel=False)):
        assert reasons.bystanders(other) == []
    assert reasons.addresses([PASCAL] * 10) == ", ".join(["0000:01:00.0"] * 8) + " and 2 more"


@pytest.mark.parametrize(
    ("read", "raw", "value"),
    [
        (kernel.product_name, " NVIDIA A100 ", "NVIDIA A100"),
        (kernel.product_name, "x" * 200, "x" * 128),
        *((kernel.product_name, raw, None) for raw in (None, "", " ", "[N/A]", "a\x00b", "a\N{REPLACEMENT CHARACTER}",
         "a\u202eb")),
        *((kernel.driver_version, raw, raw) for raw in ("580.95.05", "12.1", "1234.1.2.3")),
        (kernel.driver_version, " 580.95 ", "580.95"),
        *((kernel.driver_version, raw, None) for raw in (None, "", "580", "5.1", "580.x", "12345.1",
         "1.2.3.4.5", "580.95.05; rm -rf")),
        (probe.cuda_version, 12080, "12.8"),
        (probe.cuda_version, 2000, "2.0"),
        (probe.cuda_version, 11045, "11.4"),
        (probe.cuda_version, 99_999, "99.99"),
        *((probe.cuda_version, raw, None) for raw in (None, 0, -1, 1999, 100_000)),
    ],
)  # fmt: skip
def test_what_a_driver_library_says_is_taken_where_it_has_its_form(read: Any, raw: object, value: str | None) -> None:
    assert read(raw) == value
