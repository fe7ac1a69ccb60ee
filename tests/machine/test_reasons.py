from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.conftest import Ignorant
from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import kernel, reasons
from torchpick.machine.kernel import KernelFacts, PciGpu
from torchpick.machine.probe import DriverReading, Failure
from torchpick.machine.reasons import Symptoms
from torchpick.model.arch import Arch
from torchpick.model.machine import Trouble

FACTS = KernelFacts(
    version="580.95.05", module=True, pci=(PciGpu("0000:01:00.0", 0x10DE, 0x1B06, "nvidia"),), nodes=("nvidia0",)
)


class Pascal(Knowledge):
    def pci_capability(self, device: int) -> Arch | None:  # noqa: ARG002 # every device is one
        return Arch("sm", 6, 1)

    def dropped_by(self, version: str, arch: Arch) -> int | None:  # noqa: ARG002
        return 580 if version.startswith("59") else None


PASCAL = Pascal({})


def symptoms(facts: KernelFacts, readings: list[DriverReading], knowledge: Knowledge = PASCAL) -> Symptoms:
    return Symptoms(facts, tuple(readings), knowledge)


def why(facts: KernelFacts, readings: list[DriverReading], knowledge: Knowledge) -> Trouble:
    return reasons.why(symptoms(facts, readings, knowledge))


def test_nodes_that_may_not_be_opened() -> None:
    readings = [DriverReading("nvml", failure=Failure("refused", "NVML says: driver not loaded (9)", 9))]
    assert why(FACTS._replace(permitted=False), readings, PASCAL).code == "NO_PERMISSION"
    assert why(FACTS, readings, PASCAL).code == "DRIVER_SILENT"


def test_the_hint_offers_the_pci_id_only_where_it_helps() -> None:
    assert "`--trust-pci` to read sm_61" in why(FACTS, [], PASCAL).hint
    assert "--trust-pci" not in why(FACTS, [], Ignorant()).hint


def test_libcudas_statuses_are_not_nvmls() -> None:
    """CUDA's 4 is `deinitialized`, and no word of permission."""
    readings = [DriverReading("cuda", failure=Failure("refused", "cuInit says: error (4)", 4))]
    assert why(FACTS, readings, PASCAL).code == "DRIVER_SILENT"
    readings = [DriverReading("cuda", failure=Failure("refused", "cuInit says: mismatch (803)", 803))]
    assert why(FACTS, readings, PASCAL).code == "DRIVER_MISMATCH"


def test_a_library_alone_is_no_gpu_unless_it_shows_one() -> None:
    nothing = KernelFacts()
    assert not symptoms(
        nothing, [DriverReading("nvml", failure=Failure("refused", "driver not loaded", 9))]
    ).are_of_a_gpu
    assert not symptoms(nothing, [DriverReading("cuda", failure=Failure("refused", "no device", 100))]).are_of_a_gpu
    for kind, code in (("hangs", None), ("crashed", None), ("refused", 18), ("refused", 4)):
        assert symptoms(nothing, [DriverReading("nvml", failure=Failure(kind, "x", code))]).are_of_a_gpu


def test_windows_libraries_are_looked_for_where_windows_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World("/", {"SYSTEMROOT": "D:", "PROGRAMFILES": "P:"}, "/", "win32")
    assert kernel.candidates(kernel.NVML, world) == []
    monkeypatch.chdir(tmp_path)  # here a name with backslashes is a file of that name
    for name in (r"D:\System32\nvml.dll", r"P:\NVIDIA Corporation\NVSMI\nvcuda.dll"):
        (tmp_path / name).touch()
    assert kernel.candidates(kernel.NVML, world) == [r"D:\System32\nvml.dll"]
    assert kernel.candidates(kernel.CUDA, world) == [r"P:\NVIDIA Corporation\NVSMI\nvcuda.dll"]
