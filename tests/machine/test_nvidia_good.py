"""Machines whose driver answers, asked through the real pynvml and compiled stand-ins."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.fakes.nvidia import GTX_1080_TI, RTX_3090, RTX_4090, Computer, gpu, uuid
from tests.machine.conftest import Look
from torchpick.environment import child, guard
from torchpick.environment.child import Running
from torchpick.machine import probe
from torchpick.machine.kernel import Seen
from torchpick.model.fields import written
from torchpick.model.machine import Driver

pytestmark = pytest.mark.process


def archs(found: Seen) -> list[str]:
    return [str(each.arch) for each in found.gpus]


def codes(found: Seen) -> list[str]:
    return [note.code for note in found.notes]


def three(computer: Computer) -> Computer:
    computer.driver(gpus=3).pci("0000:01:00.0", RTX_3090).pci("0000:02:00.0", RTX_4090).pci("0000:03:00.0", GTX_1080_TI)
    return computer.say(
        f"""
        {gpu(1, "8.6", "NVIDIA GeForce RTX 3090")}
        {gpu(2, "8.9", "NVIDIA GeForce RTX 4090")}
        {gpu(3, "6.1", "NVIDIA GeForce GTX 1080 Ti")}
        cuda.order 1,0,2
        """
    )


def test_one_gpu_and_where_each_fact_is_from(computer: Computer, look: Look) -> None:
    computer.driver().pci("0000:01:00.0", GTX_1080_TI).say(gpu(1, "6.1", "NVIDIA GeForce GTX 1080 Ti"))
    found = look(computer)
    assert found.driver is not None
    assert found.driver == Driver("580.95.05", "13.0", "nvml", "nvml")
    assert [written(each) for each in found.gpus] == [
        {
            "index": 0,
            "vendor": "nvidia",
            "name": "NVIDIA GeForce GTX 1080 Ti",
            "arch": "sm_61",
            "uuid": uuid(1),
            "pci": "0000:01:00.0",
            "visible": True,
            "integrated": False,
            "counted": True,
            "source": "nvml",
        }
    ]
    assert (found.notes, found.trouble) == ((), None)


@pytest.mark.parametrize(
    ("value", "order", "shown"),
    [
        ("0", None, [1]),  # CUDA counts the fastest first, which only libcuda knows
        ("0", "PCI_BUS_ID", [0]),
        ("2,0", None, [1, 2]),
        ("0,-1,1", "PCI_BUS_ID", [0]),  # what is invalid ends the list
        ("", None, []),
        ("-1", None, []),
        ("void", None, []),
        (uuid(3)[:12], None, [2]),
    ],
)
def test_visible_devices_by_cudas_own_order(
    computer: Computer, look: Look, value: str, order: str | None, shown: list[int]
) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": value, **({"CUDA_DEVICE_ORDER": order} if order else {})}
    found = look(three(computer), environ=environ, exact_order=True)
    assert [each.index for each in found.gpus if each.visible] == shown
    assert "CUDA_VISIBLE_DEVICES" in codes(found)


def test_wsl_prefers_the_library_of_windows(computer: Computer, look: Look) -> None:
    """A driver package inside the distribution brings a library that answers "driver not loaded"."""
    computer.nodes("dxg").library("libnvidia-ml", folder="/usr/lib/wsl/lib").library(
        "libcuda", folder="/usr/lib/wsl/lib"
    ).file("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", b"")
    computer.pci("5582:00:00.0", 0x008E, vendor=0x1414, kind=0x030200)
    found = look(computer.say(f"nvml.driver 572.60\nnvml.cuda 12080\n{gpu(1, '8.9')}"))
    assert archs(found) == ["sm_89"]
    assert found.driver is not None
    assert (found.driver.version, found.driver.cuda) == ("572.60", "12.8")
    assert codes(found) == ["WSL"]


def test_jetpack_5_has_no_nvml(computer: Computer, look: Look) -> None:
    computer.file("/proc/device-tree/compatible", "nvidia,p3737-0000\0nvidia,tegra234\0").nodes("nvhost-gpu")
    computer.library("libcuda", folder="/usr/lib/aarch64-linux-gnu/tegra")
    found = look(computer.say("cuda.version 11040\ngpu cc=8.7 name=Orin"))
    assert archs(found) == ["sm_87"]
    assert found.gpus[0].integrated
    assert found.gpus[0].counted
    assert found.driver is not None
    assert (found.driver.version, found.driver.cuda, found.driver.cuda_source) == (None, "11.4", "cuda")


def test_cuda_compat_counts_once_cuinit_answers(computer: Computer, look: Look) -> None:
    computer.module("535.161.07").nodes("nvidiactl", "nvidia0").library("libnvidia-ml")
    folder = "/usr/lib/x86_64-linux-gnu"
    computer.library("libcuda")
    (computer.root / f"{folder}/libcuda.so.1".lstrip("/")).rename(
        computer.root / f"{folder}/libcuda.so.580.65.06".lstrip("/")
    )
    (computer.root / f"{folder}/libcuda.so.1".lstrip("/")).symlink_to("libcuda.so.580.65.06")
    said = f"nvml.driver 535.161.07\nnvml.dlopen {computer.root}{folder}/libcuda.so.1\n{gpu(1, '8.0')}"
    found = look(computer.say(said))
    assert found.driver is not None
    assert found.driver == Driver("535.161.07", "13.0", "nvml", "cuda")
    assert codes(found) == ["CUDA_COMPAT"]

    found = look(computer.say(f"{said}\ncuda.init 804"))
    assert found.driver is not None
    assert (found.driver.version, found.driver.cuda) == ("535.161.07", None)
    assert codes(found) == ["CUDA_COMPAT_REFUSED"]


def test_without_libcuda_the_older_call_tells_the_cuda_version(computer: Computer, look: Look) -> None:
    """A container with NVIDIA_DRIVER_CAPABILITIES=utility has NVML alone."""
    computer.module("580.95.05").nodes("nvidiactl", "nvidia0").library("libnvidia-ml")
    found = look(computer.say(f"nvml.cuda 0\nnvml.cuda_v1 12090\n{gpu(1, '9.0')}"))
    assert found.driver is not None
    assert (found.driver.cuda, found.driver.cuda_source) == ("12.9", "nvml")


def test_no_nvidia_hardware_starts_nothing(computer: Computer, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "fork", None)
    monkeypatch.setattr(child, "start", None)
    computer.pci("0000:00:02.0", 0x46A6, vendor=0x8086, bound="i915")
    assert look(computer) == Seen()


def test_a_healthy_driver_is_asked_once(computer: Computer, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    start = probe.start

    def count(source: str, libraries: Sequence[str], limit_s: float) -> Running:
        asked.append(source)
        return start(source, libraries, limit_s)

    monkeypatch.setattr(probe, "start", count)
    monkeypatch.setattr(child, "start", None)
    monkeypatch.setattr(guard, "can_fork", lambda: True)
    computer.driver().say(gpu(1, "8.9"))
    for environ, exact_order in (({}, True), ({"CUDA_VISIBLE_DEVICES": "0"}, False)):
        assert archs(look(computer, environ=environ, exact_order=exact_order)) == ["sm_89"]
    assert asked == ["nvml", "nvml"]


def test_libraries_in_an_image_without_a_gpu_are_no_gpu(computer: Computer, look: Look) -> None:
    found = look(computer.library("libnvidia-ml").library("libcuda").say("nvml.init 9\ncuda.init 100"))
    assert (found.gpus, found.trouble) == ((), None)
