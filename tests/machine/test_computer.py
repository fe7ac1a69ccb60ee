from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.fakes.nvidia import RTX_4090, Computer, gpu
from tests.machine.conftest import Known
from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import computer as this
from torchpick.machine.given import MachineOverrides
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python

PASCAL = Gpu(0, "nvidia", "GTX 1080 Ti", Arch("sm", 6, 1))
ELSEWHERE = "windows-x86_64" if sys.platform != "win32" else "linux-x86_64"


def detect(*, world: World | None = None, knowledge: Knowledge | None = None, **facts: Any) -> Machine:
    return this.detect(MachineOverrides(**facts), knowledge=knowledge or Knowledge({}), world=world)


def test_a_named_jetson_is_judged_by_the_release_of_the_board_that_it_is_asked_on(computer: Computer) -> None:
    world = computer.file("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.0, GCID: 1").world()
    orin = Gpu(0, "nvidia", "Orin NX", Arch("sm", 8, 7))

    assert detect(gpus=(orin,), world=world).driver == Driver(None, "12.6", "unknown", "nv_tegra_release")
    assert detect(gpus=(orin,), world=world, driver=Driver("595.78")).driver == Driver("595.78")
    assert detect(gpus=(PASCAL,), world=world).driver is None


def test_inside_wsl2_the_driver_of_windows_drives_a_named_amd_gpu(computer: Computer) -> None:
    world = computer.file("/proc/sys/kernel/osrelease", "6.6.87-microsoft-standard-WSL2\n").world()
    radeon = Gpu(0, "amd", "RX 9070 XT", Arch.parse("gfx1201"))

    assert detect(gpus=(radeon,), world=world).driver_os == "windows"
    assert detect(gpus=(PASCAL, radeon), world=world).driver_os == "windows"
    assert detect(gpus=(radeon,), world=world, driver=Driver("595.1")).driver == Driver("595.1")
    assert detect(gpus=(PASCAL,), world=world).driver is None
    (computer.root / "proc/sys/kernel/osrelease").unlink()
    assert detect(gpus=(radeon,), world=computer.world()).driver is None
    assert detect(gpus=(radeon,), world=computer.world(), wsl=True).driver_os == "windows"


@pytest.mark.process
def test_a_told_fact_replaces_its_own_and_no_other(computer: Computer) -> None:
    world = computer.driver().say(gpu(1, "8.9")).world()
    found = detect(world=world, driver=Driver("535.161.07"), python="3.9", glibc="2.28")
    assert [str(each.arch) for each in found.gpus] == ["sm_89"]
    assert found.driver == Driver("535.161.07", None, "given", None)
    assert (found.python.version, found.platform.glibc) == ("3.9", "2.28")
    cuda = detect(world=world, driver=Driver(None, "12.4", "given", "given")).driver
    assert cuda == Driver("580.95.05", "12.4", "nvml", "given")
    assert detect(world=world).driver == Driver("580.95.05", "13.0", "nvml", "nvml")


def test_another_platform_needs_its_gpus_told() -> None:
    with pytest.raises(UsageError, match="must be specified"):
        detect(platform=Platform.parse(ELSEWHERE))
    found = detect(platform=Platform.parse(ELSEWHERE), gpus=(PASCAL,))
    assert found.platform.name == ELSEWHERE
    assert found.python.version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert found.python.executable is None
    assert detect(platform=Platform.parse(ELSEWHERE), gpus=(PASCAL,), python="3.14t").python.tag == "cp314t"


def test_a_specified_glibc_makes_it_a_machine_with_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    alpine = Machine(Platform("linux", "x86_64", None, "musl"), Python("3.12"))
    monkeypatch.setattr(interpreter, "choose", lambda *_: alpine)

    assert detect(gpus=(PASCAL,), glibc="2.28").platform == Platform("linux", "x86_64", "2.28", "glibc")
    assert detect(gpus=(PASCAL,)).platform == alpine.platform
    if interpreter.running().platform.name == "linux-x86_64":
        named = Platform.parse("linux-x86_64")
        assert detect(gpus=(PASCAL,), platform=named).platform == alpine.platform, "it is this one"


def test_the_c_library_of_another_platform_is_not_judged_unless_told() -> None:
    told = detect(platform=Platform.parse("linux-aarch64"), gpus=(PASCAL,), glibc="2.31")
    assert (told.platform.glibc, told.notes) == ("2.31", ())
    assumed = detect(platform=Platform.parse("linux-aarch64"), gpus=(PASCAL,))
    if sys.platform == "linux" and assumed.notes:
        assert assumed.platform.glibc is None
        assert [note.code for note in assumed.notes] == ["GLIBC_ASSUMED"]


@pytest.mark.process
def test_visible_narrows(computer: Computer) -> None:
    computer.driver(gpus=2).say(f"{gpu(1, '8.9')}\n{gpu(2, '6.1')}\ncuda.order 1,0")
    world = computer.world(CUDA_VISIBLE_DEVICES="0")
    assert [each.counted for each in detect(world=world).gpus] == [True, True]
    found = detect(world=world, visible_only=True)
    assert [(each.visible, each.counted) for each in found.gpus] == [(False, False), (True, True)]
    assert [note.code for note in found.notes] == ["NOT_VISIBLE_LEFT_OUT"]


@pytest.mark.process
def test_the_pci_id_is_used_only_where_it_is_trusted(computer: Computer) -> None:
    world = computer.pci("0000:01:00.0", RTX_4090, bound=None).world()
    found = detect(world=world, knowledge=Known())
    assert found.trouble is not None
    assert "sm_89" in found.trouble.hint
    trusting = detect(world=world, knowledge=Known(), trust_pci=True)
    assert (trusting.trouble, [str(each.arch) for each in trusting.gpus]) == (None, ["sm_89"])
