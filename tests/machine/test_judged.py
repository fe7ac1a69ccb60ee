"""What the kernel's facts and the readings of the driver's libraries amount to: `judged.json` has it for each case.

See `tests/recorded.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests import recorded
from tests.machine.conftest import brief
from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import nvidia
from torchpick.machine.kernel import KernelFacts, LookOptions, PciGpu
from torchpick.machine.probe import Device, DriverReading, failed_reading

FILE = Path(__file__).with_name("judged.json")
PASCAL, AMPERE = PciGpu("0000:01:00.0", 0x10DE, 0x1B06, "nvidia"), PciGpu("0000:03:00.0", 0x10DE, 0x2204, "nvidia")
UNKNOWN = PciGpu("0000:04:00.0", 0x10DE, 0xFFFF, "nvidia")
FACTS = KernelFacts("580.95.05", module=True, pci=(PASCAL, AMPERE), nodes=("nvidia0", "nvidia1"))
JETSON = KernelFacts("540.4.0", module=True, tegra="Orin", jetson_cuda="12.6")
OLD, NEW = (
    Device("GTX 1080 Ti", (6, 1), "GPU-aa11", PASCAL.address), Device("RTX 3090", (8, 6), "GPU-bb22", AMPERE.address)
)  # fmt: skip
TWIN = OLD._replace(uuid="GPU-aa33", pci=AMPERE.address)
NVML = DriverReading("nvml", "580.95.05", "13.0", (OLD, NEW))
CUDA = DriverReading(
    "cuda", None, "13.0", (NEW._replace(name="GeForce", pci=None), OLD._replace(uuid=None)), libcuda="580.95.05"
)
STRANGE = CUDA._replace(devices=(Device("X", (9, 0)), Device("Y", (9, 0))))
COMPAT = CUDA._replace(cuda="13.1", libcuda="595.1")
REFUSED = failed_reading("cuda", "refused", "cuInit says: 803", 803)


class Case(NamedTuple):
    facts: KernelFacts
    readings: tuple[DriverReading, ...] = ()
    environ: Mapping[str, str] = {}
    trust_pci: bool = False


def shows(value: str, *readings: DriverReading, **more: str) -> Case:
    return Case(FACTS, readings or (NVML,), {"CUDA_VISIBLE_DEVICES": value, **more})


def failed(kind: str, code: int | None = None, source: str = "nvml") -> tuple[DriverReading, ...]:
    return (failed_reading(source, kind, f"{source} {kind}", code),)


CASES = {
    "NVML answers": Case(FACTS, (NVML,)),
    "libcuda alone answers": Case(FACTS, (failed_reading("nvml", "absent", "none"), CUDA)),
    "NVML failed before libcuda answered": Case(FACTS, (failed_reading("nvml", "hangs", "slow"), CUDA)),
    "NVML does not know what libcuda does": Case(
        FACTS,
        (NVML._replace(cuda=None, devices=(OLD._replace(capability=None, name=None), Device(None, None,
         "GPU-bb22"))), CUDA),
    ),
    "nobody knows the capability of one": Case(
        FACTS, (NVML._replace(devices=(OLD._replace(capability=None), NEW)), CUDA._replace(devices=(OLD._replace(
         capability=None),))),
    ),
    "nor its name": Case(FACTS, (NVML._replace(devices=(OLD, Device(pci=AMPERE.address))),)),
    "nor anything": Case(FACTS, (NVML._replace(devices=(OLD, Device())),)),
    "the kernel alone knows the version": Case(FACTS, (NVML._replace(driver=None, cuda=None),)),
    "one GPU is lost and one refused": Case(FACTS, (NVML._replace(devices=(OLD, Device(error=15), Device(error=4))),)),
    "one GPU is lost": Case(FACTS, (NVML._replace(devices=(OLD, Device(error=15))),)),
    "one GPU may not be used": Case(FACTS, (NVML._replace(devices=(Device(error=4), NEW)),)),
    "one is lost and two are not listed": Case(
        FACTS._replace(version="595.1", pci=(PASCAL, AMPERE, UNKNOWN)),
        (NVML._replace(driver="595.1", devices=(NEW, Device(error=15))),),
    ),
    "libcuda has what NVML lost": Case(
        FACTS, (NVML._replace(devices=(Device(error=15),)), CUDA._replace(devices=(OLD, NEW)))
    ),
    "none is where the bus has one": Case(
        FACTS._replace(pci=(PASCAL._replace(address="PCI\\VEN_10DE"), AMPERE)), (NVML._replace(devices=(OLD,)),)
    ),
    "nothing of NVIDIA": Case(KernelFacts(), (failed_reading("nvml", "refused", "no driver", 9),)),
    "a GPU without a driver": Case(KernelFacts(pci=(PASCAL,))),
    "its PCI id is trusted": Case(
        KernelFacts(pci=(PASCAL, AMPERE, UNKNOWN._replace(bound="vfio-pci"))), trust_pci=True
    ),
    "its PCI id is not known": Case(KernelFacts(pci=(PASCAL, UNKNOWN)), trust_pci=True),
    "no PCI id is there": Case(KernelFacts(nodes=("nvidia0",)), trust_pci=True),
    "a forward-compatible libcuda": Case(FACTS, (NVML._replace(cuda="13.2", libcuda="595.1"), COMPAT)),
    "it fails": Case(FACTS, (NVML._replace(cuda="13.2", libcuda="595.1"), REFUSED)),
    "it was not asked": Case(FACTS, (NVML._replace(cuda="12.8", libcuda="570.1"),)),
    "a libcuda beside a driver of unknown version": Case(KernelFacts(), (NVML._replace(driver=None, libcuda="595.1"),)),
    "the driver's own libcuda in other digits": Case(FACTS, (NVML._replace(libcuda="580.95.5"),)),
    "a Jetson": Case(JETSON, (NVML._replace(driver="540.4.0", cuda="12.6", devices=(Device("Orin", (8, 7)),)),)),
    "a Jetson whose driver speaks no CUDA": Case(
        JETSON, (NVML._replace(driver="579.99", cuda=None, devices=(Device("Orin", (8, 7)),)),)
    ),
    "a Jetson of the unified stack": Case(
        JETSON._replace(version="580.00"), (NVML._replace(driver="580.00", devices=(Device("Thor", (11, 0)),)),)
    ),
    "a Jetson that does not answer": Case(JETSON),
    "a Jetson whose card does not answer": Case(JETSON._replace(pci=(AMPERE,))),
    "a Jetson with a card": Case(JETSON._replace(pci=(AMPERE,)), (NVML._replace(driver="540.4.0", devices=(NEW,)),)),
    "WSL2": Case(KernelFacts(wsl=True, wsl_driver=True), (NVML._replace(driver="576.02", libcuda="570.1"),)),
    "WSL2 without an answer": Case(KernelFacts(wsl=True, wsl_driver=True, wsl_kernel=True, container=True)),
    "a GPU of a virtual machine": Case(
        FACTS._replace(pci=(PASCAL, AMPERE._replace(bound="vfio-pci"), PciGpu("0000:05:00.0", 0x1002, 1, "vfio-pci"))),
        (NVML._replace(devices=(OLD,)),),
    ),
    "nouveau has one of two": Case(
        KernelFacts(pci=(PASCAL._replace(bound="nouveau"), AMPERE, UNKNOWN._replace(bound="vfio-pci")))
    ),
    "nouveau has it": Case(KernelFacts(pci=(PASCAL._replace(bound="nouveau"),))),
    "libcuda speaks of a mismatch and no NVML is there": Case(FACTS, failed("absent") + failed("refused", 803, "cuda")),
    "NVML speaks of a mismatch": Case(FACTS, failed("refused", 18)),
    "NVML lists none and libcuda fails": Case(FACTS, (NVML._replace(devices=()), *failed("refused", 100, "cuda"))),
    "it hangs": Case(FACTS, failed("refused", 9) + failed("hangs", source="cuda")),
    "it crashes": Case(FACTS, failed("crashed")),
    "it is a stub": Case(FACTS, failed("stub")),
    "no process could ask": Case(FACTS, failed("unasked")),
    "nothing was passed into the container": Case(FACTS._replace(nodes=(), container=True)),
    "its nodes may not be opened": Case(FACTS._replace(permitted=False), failed("refused", 9)),
    "its module is not loaded": Case(FACTS._replace(module=False), failed("refused", 9)),
    "the driver no longer serves it": Case(FACTS._replace(version="595.1", pci=(PASCAL,)), failed("refused", 9)),
    "shows none": shows(""),
    "shows all": shows("0,1"),
    "shows the first of those that are not alike": shows("0", CUDA_DEVICE_ORDER="FASTEST_FIRST"),
    "shows the first of one capability and two names": shows(
        "0", NVML._replace(devices=(NEW, NEW._replace(name="A10")))
    ),
    "shows the first of one name and two capabilities": shows(
        "0", NVML._replace(devices=(NEW, NEW._replace(capability=(7, 5))))
    ),
    "shows the second, of which libcuda lists one": shows("1", NVML, CUDA._replace(devices=(NEW,))),
    "shows the first as libcuda counts": shows("0", NVML, CUDA),
    "shows the second as libcuda counts": shows("1", NVML, CUDA),
    "shows the first by its address": shows("0", CUDA_DEVICE_ORDER="PCI_BUS_ID"),
    "shows the first of two alike": shows("0", NVML._replace(devices=(OLD, TWIN))),
    "shows one by its UUID": shows("GPU-bb"),
    "shows two by their UUIDs": shows(" GPU-bb22 , GPU-aa"),
    "shows one by a UUID that two have": shows("GPU-aa", NVML._replace(devices=(OLD, TWIN))),
    "shows one twice": shows("GPU-aa,GPU-aa"),
    "shows a UUID and a number": shows("GPU-aa,1"),
    "shows a UUID and a part of one": shows("GPU-bb,GPU", NVML._replace(devices=(NEW,))),
    "shows instances": shows("MIG-aa,0"),
    "shows numbers up to one that is none": shows("0,MIG-x,GPU-bb,1", NVML, CUDA),
    "shows a number like strtoul": shows(" +1gpu", NVML, CUDA),
    "shows a number that no GPU has": shows("2,0"),
    "shows what libcuda cannot match": shows("0", NVML, STRANGE),
    "shows what libcuda does not list": shows("0", NVML, CUDA._replace(devices=())),
}  # fmt: skip


def judged() -> dict[str, object]:
    now: dict[str, object] = {}
    for name, case in CASES.items():
        world = World("/nowhere", case.environ, "/", "linux")
        how = LookOptions(world, 0.0, Knowledge({}), trust_pci=case.trust_pci)
        now[name] = brief(nvidia.judge(case.facts, case.readings, how))
    return now


test_each_case_is_judged_as_it_was = recorded.table(FILE, judged)


def test_what_is_asked_until_no_further_source_could_add_anything() -> None:
    silent = failed_reading("nvml", "absent", "none")
    unknowing = NVML._replace(devices=(OLD, NEW._replace(capability=None)))
    answers = {
        "nothing yet": ([], False, False),
        "nobody answers": ([silent], False, False),
        "no GPU is listed": ([NVML._replace(devices=())], False, False),
        "a capability is missing": ([unknowing], False, False),
        "all is known": ([NVML], False, True),
        "but the order": ([NVML], True, False),
        "the order too": ([NVML, CUDA], True, True),
        "no CUDA version": ([NVML._replace(cuda=None)], False, False),
        "a libcuda that may not work": ([NVML._replace(libcuda="595.1")], False, False),
        "it was asked": ([NVML._replace(libcuda="595.1"), REFUSED], False, True),
    }

    assert {
        name: nvidia.enough(readings, FACTS, exact_order=order) for name, (readings, order, _) in answers.items()
    } == {name: enough for name, (_, _, enough) in answers.items()}


def test_what_tells_that_a_gpu_is_there_and_why_it_does_not_answer() -> None:
    bus, driven = KernelFacts(pci=(PASCAL,)), KernelFacts(module=True, nodes=("nvidia0",))
    lost, refused = Device(error=15), Device(error=4)
    codes: dict[tuple[KernelFacts, tuple[DriverReading, ...]], str | None] = {
        (KernelFacts(), failed("absent") + failed("unusable", source="cuda")): None,
        (KernelFacts(module=True, wsl=True, wsl_kernel=True, container=True), ()): None,
        (KernelFacts(nodes=("nvidia0",)), ()): "DRIVER_MISSING", (KernelFacts(tegra="Orin"), ()): "JETSON_SILENT",
        (KernelFacts(wsl=True, wsl_driver=True), ()): "WSL_DRIVER", (KernelFacts(), failed("hangs")): "DRIVER_HANGS",
        (KernelFacts(), failed("crashed")): "DRIVER_CRASHED", (KernelFacts(), failed("silent")): "DRIVER_CRASHED",
        (KernelFacts(), failed("unasked")): "PROBE_NOT_STARTED",
        (KernelFacts(), (NVML._replace(devices=(lost, refused)),)): "GPU_LOST",
        (KernelFacts(), (NVML._replace(devices=(refused, refused)),)): "NO_PERMISSION",
        (KernelFacts(), (NVML._replace(devices=(refused,)), CUDA._replace(devices=(lost,)))): "NO_PERMISSION",
        (driven, failed("stub")): "STUB_LIBRARY", (driven, failed("unusable")): "LIBRARY_MISSING",
        (driven, failed("absent") + failed("refused", 9, "cuda")): "DRIVER_SILENT",
        (driven, failed("absent") + failed("unusable", source="cuda")): "LIBRARY_MISSING",
        (driven, failed("absent", 18)): "LIBRARY_MISSING", (driven, failed("refused", 4)): "NO_PERMISSION",
        (driven._replace(module=False), failed("absent") + failed("refused", 9, "cuda")): "MODULE_NOT_LOADED",
        (driven._replace(pci=(PASCAL,)), (NVML._replace(driver="595.1", devices=()),)): "DRIVER_DROPPED_GPU",
        (driven._replace(pci=(PASCAL, AMPERE), version="595.1"), failed("refused", 9)): "DRIVER_SILENT",
        (bus._replace(container=True), ()): "GPU_NOT_PASSED_IN",
        (bus._replace(container=True, wsl=True), ()): "WSL_DRIVER",
        (bus._replace(container=True, tegra="Thor"), ()): "JETSON_SILENT",
        (bus._replace(container=True, nodes=("nvidia1",), module=True), ()): "LIBRARY_MISSING",
        **{(KernelFacts(pci=(PASCAL._replace(bound=name),)), ()): "NOUVEAU_BOUND"
           for name in ("nouveau", "nova", "nova_core", "NovaCore")},
        **{(KernelFacts(), failed("refused", code)): why for code, why in (
            (1, None), (4, "NO_PERMISSION"), (9, None), (15, "MODULE_NOT_LOADED"), (18, "DRIVER_MISMATCH"),
            (100, None), (803, None), (999, "MODULE_NOT_LOADED"))},
        **{(KernelFacts(), failed("refused", code, "cuda")): why for code, why in (
            (4, None), (18, None), (100, None), (803, "DRIVER_MISMATCH"), (999, "MODULE_NOT_LOADED"))},
    }  # fmt: skip

    how = LookOptions(World("/nowhere", {}, "/", "linux"), 0.0, Knowledge({}))
    found = {(facts, readings): nvidia.judge(facts, readings, how).trouble for facts, readings in codes}
    assert {case: trouble and trouble.code for case, trouble in found.items()} == codes


def test_the_same_gpu_in_another_list() -> None:
    one, two = Device(uuid="GPU-a", pci="1"), Device(uuid="GPU-b", pci="2")
    assert nvidia.match(Device(uuid="GPU-b", pci="1"), (one, two), (one, two)) == two, "its UUID before its place"
    assert nvidia.match(Device(uuid="GPU-a", pci="2"), (one, two), (one, one._replace(pci="2"))) == one._replace(
        pci="2"
    )
    assert nvidia.match(Device(pci="1"), (one, two), (one, two._replace(pci=None))) == one
    assert nvidia.match(Device(), (one, two), (one, Device())) is None
    assert nvidia.match(Device(), (one,), (two,)) == two, "each has one"
    assert nvidia.match(Device(), (one, two), (two,)) is nvidia.match(Device(), (one,), (one, two)) is None
