from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.conftest import Ignorant
from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import kernel, reasons
from torchpick.machine.driver_reading import failed
from torchpick.machine.kernel import KernelFacts, PciGpu
from torchpick.model.arch import Arch

FACTS = KernelFacts(
    version="580.95.05", module=True, pci=(PciGpu("0000:01:00.0", 0x10DE, 0x1B06, "nvidia"),), nodes=("nvidia0",)
)


class Pascal(Knowledge):
    def pci_capability(self, device: int) -> Arch | None:  # noqa: ARG002 # every device is one
        return Arch("sm", 6, 1)

    def dropped_by(self, version: str, arch: Arch) -> int | None:  # noqa: ARG002
        return 580 if version.startswith("59") else None


PASCAL = Pascal({})


def test_nodes_that_may_not_be_opened() -> None:
    readings = [failed("nvml", "refused", "NVML says: driver not loaded (9)", 9)]
    assert reasons.why(FACTS._replace(permitted=False), readings, PASCAL).code == "NO_PERMISSION"
    assert reasons.why(FACTS, readings, PASCAL).code == "DRIVER_SILENT"


def test_the_hint_offers_the_pci_id_only_where_it_helps() -> None:
    assert "`--trust-pci` to read sm_61" in reasons.why(FACTS, [], PASCAL).hint
    assert "--trust-pci" not in reasons.why(FACTS, [], Ignorant()).hint


def test_libcudas_statuses_are_not_nvmls() -> None:
    """CUDA's 4 is `deinitialized`, and no word of permission."""
    readings = [failed("cuda", "refused", "cuInit says: error (4)", 4)]
    assert reasons.why(FACTS, readings, PASCAL).code == "DRIVER_SILENT"
    readings = [failed("cuda", "refused", "cuInit says: mismatch (803)", 803)]
    assert reasons.why(FACTS, readings, PASCAL).code == "DRIVER_MISMATCH"


def test_a_library_alone_is_no_gpu_unless_it_shows_one() -> None:
    nothing = KernelFacts()
    assert not reasons.is_there(nothing, [failed("nvml", "refused", "driver not loaded", 9)])
    assert not reasons.is_there(nothing, [failed("cuda", "refused", "no device", 100)])
    for kind, code in (("hangs", None), ("crashed", None), ("refused", 18), ("refused", 4)):
        assert reasons.is_there(nothing, [failed("nvml", kind, "x", code)])


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
