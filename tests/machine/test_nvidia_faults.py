"""Every known way in which a driver fails, and the answer it must give."""

from __future__ import annotations

import time

import pytest

from tests.fakes.nvidia import A100, GTX_1080_TI, RTX_4090, Computer, gpu
from tests.machine.conftest import Look
from tests.machine.test_nvidia_good import archs, codes
from tests.skips import bound_by_modes
from torchpick.environment import guard
from torchpick.machine.kernel import Seen
from torchpick.model.machine import Trouble

pytestmark = pytest.mark.process


def choose_child(monkeypatch: pytest.MonkeyPatch, *, forked: bool) -> None:
    if forked and not guard.can_fork():
        pytest.skip("this test process has threads; the command line's own tests fork")
    monkeypatch.setattr(guard, "can_fork", lambda: forked)


def trouble(found: Seen) -> Trouble:
    assert found.trouble is not None
    return found.trouble


@pytest.mark.parametrize(("act", "note"), [
    ("segv", "NVML_CRASHED"), ("abort", "NVML_CRASHED"), ("exit", "NVML_SILENT"), ("eat", "NVML_CRASHED"),
    ("hang", "NVML_HANGS"),
])  # fmt: skip
@pytest.mark.parametrize("forked", [pytest.param(True, marks=pytest.mark.fork), False])
def test_a_broken_nvml_hands_over_to_libcuda(
    computer: Computer,
    look: Look,
    act: str,
    note: str,
    forked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    choose_child(monkeypatch, forked=forked)
    computer.driver().pci("0000:01:00.0", GTX_1080_TI).say(f"nvml.act {act}\n{gpu(1, '6.1')}")
    began = time.monotonic()
    # What hangs takes its share of the deadline; what fails at once leaves a busy computer the time it needs.
    timeout = 8.0 if act == "hang" else 60.0
    found = look(computer, timeout=timeout)
    assert time.monotonic() - began < timeout
    assert (archs(found), found.gpus[0].source) == (["sm_61"], "cuda")
    assert codes(found) == [note]
    assert found.driver is not None
    assert (found.driver.version, found.driver.source) == ("580.95.05", "/sys/module/nvidia/version")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("act", ["print", "chatter"])
@pytest.mark.parametrize("forked", [pytest.param(True, marks=pytest.mark.fork), False])
def test_what_a_library_prints_stays_in_the_child(
    computer: Computer,
    look: Look,
    act: str,
    forked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    choose_child(monkeypatch, forked=forked)
    found = look(computer.driver().say(f"nvml.act {act}\n{gpu(1, '8.9')}"))
    assert (archs(found), found.gpus[0].source, found.notes) == (["sm_89"], "nvml", ())
    assert found.driver is not None
    assert found.driver.version == "580.95.05"
    assert capfd.readouterr() == ("", "")


def test_all_that_hangs_ends_with_the_deadline(computer: Computer, look: Look) -> None:
    computer.driver().pci("0000:01:00.0", RTX_4090).say("nvml.act hang\ncuda.act hang")
    began = time.monotonic()
    found = look(computer, timeout=1.5)
    assert 1.4 < time.monotonic() - began < 20
    assert trouble(found).code == "DRIVER_HANGS"
    assert "nvml" in trouble(found).text
    assert "TORCHPICK_DETECT_TIMEOUT" in trouble(found).hint
    assert [(each.pci, each.arch) for each in found.gpus] == [("0000:01:00.0", None)]


@pytest.mark.parametrize(("third", "code"), [("15", "GPU_LOST"), ("4", "GPU_FORBIDDEN")])
def test_one_gpu_lost_or_forbidden_of_three(third: str, code: str, computer: Computer, look: Look) -> None:
    computer.driver(gpus=3).pci("0000:01:00.0", RTX_4090).pci("0000:02:00.0", GTX_1080_TI).pci("0000:03:00.0", A100)
    computer.say("\n".join((gpu(1, "8.9"), gpu(2, "6.1", handle=third), gpu(3, "8.0"))))
    found = look(computer)
    assert archs(found) == ["sm_89", "sm_80"]
    assert [each.index for each in found.gpus] == [0, 1]
    assert codes(found) == [code]
    assert "0000:02:00.0" in found.notes[0].text
    computer.say("\n".join((gpu(1, "8.9"), gpu(2, "6.1", handle="4"), gpu(3, "8.0", handle=third))))
    assert codes(look(computer)) == [code], "one that is forbidden does not speak for one that is lost"


def test_updated_and_not_rebooted(computer: Computer, look: Look) -> None:
    computer.driver("535.129.03").pci("0000:01:00.0", GTX_1080_TI)
    found = look(computer.say("nvml.init 18\ncuda.init 803"))
    assert trouble(found).code == "DRIVER_MISMATCH"
    assert "535.129.03" in trouble(found).text
    assert "reboot" in trouble(found).hint
    assert found.driver is not None
    assert found.driver.version == "535.129.03"

    trusting = look(computer, trust_pci=True)
    assert (archs(trusting), trusting.trouble) == (["sm_61"], None)
    assert trusting.gpus[0].source == "pci"
    assert "PCI_TRUSTED" in codes(trusting)


def test_libcuda_is_asked_for_all_its_gpus_and_an_id_of_zeros_is_none(
    computer: Computer, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_GPUS"):
        monkeypatch.setenv(name, "")
    zeros = gpu(1, "8.6", uuid="GPU-00000000-0000-0000-0000-000000000000")
    found = look(computer.driver(gpus=2).say(f"nvml.init 12\n{zeros}\n{gpu(2, '8.9')}"))
    assert [(str(each.arch), (each.uuid or "")[:12]) for each in found.gpus] == [
        ("sm_86", ""),
        ("sm_89", "GPU-00000002"),
    ]


def test_a_stale_nvml_in_an_image_does_not_hide_a_libcuda_that_works(computer: Computer, look: Look) -> None:
    found = look(computer.driver().say(f"nvml.init 18\n{gpu(1, '8.6')}"))
    assert (archs(found), found.gpus[0].source, codes(found)) == (["sm_86"], "cuda", ["NVML_REFUSED"])


def driven(computer: Computer) -> Computer:
    return computer.pci("0000:01:00.0", RTX_4090).driver()


def without_its_module(computer: Computer) -> Computer:
    return computer.pci("0000:01:00.0", GTX_1080_TI, bound=None).library("libnvidia-ml").library("libcuda")


def with_an_empty_library(computer: Computer) -> Computer:
    made = computer.pci("0000:01:00.0", RTX_4090).module("580.95.05").nodes("nvidia0")
    return made.file("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", b"")


@pytest.mark.parametrize(("build", "said", "code", "words"), [
    (without_its_module, "nvml.init 9\ncuda.init 100", "MODULE_NOT_LOADED", "Driver Not Loaded (9)"),
    (driven, "nvml.init 4\ncuda.init 100", "NO_PERMISSION", "may not be opened"),
    (driven, "nvml.init 999\ncuda.init 999", "DRIVER_SILENT", "Unknown Error (999)"),
    (driven, "nvml.act stub\nnvml.init 12\ncuda.init 34", "STUB_LIBRARY", "stub"),
    (driven, "nvml.init 12\ncuda.init 34", "STUB_LIBRARY", "stub"),
    (driven, "nvml.act segv\ncuda.act abort", "DRIVER_CRASHED", "SIGSEGV"),
    (with_an_empty_library, "", "LIBRARY_MISSING", "file too short"),
    (Computer.driver, f"{gpu(1, 'untouched')}", "NO_CAPABILITY", "no source"),
], ids=lambda value: value if isinstance(value, str) and value.isupper() else "")  # fmt: skip
def test_a_gpu_that_gives_no_answer_says_why(
    computer: Computer, look: Look, build: object, said: str, code: str, words: str
) -> None:
    assert callable(build)
    build(computer)
    found = look(computer.say(said))
    assert trouble(found).code == code
    assert words in trouble(found).text
    assert "--gpu" in trouble(found).hint
    assert not [each for each in found.gpus if each.arch is not None]


def test_the_container_is_not_asked_where_nothing_was_passed_in(
    computer: Computer, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "fork", None)
    computer.driver(gpus=0).pci("0000:01:00.0", RTX_4090).file("/.dockerenv")
    (computer.root / "dev/nvidiactl").unlink()
    assert trouble(look(computer)).code == "GPU_NOT_PASSED_IN"


@bound_by_modes
def test_device_nodes_that_may_not_be_opened(computer: Computer, look: Look) -> None:
    computer.driver().say("nvml.init 9\ncuda.init 100")
    (computer.root / "dev/nvidia0").chmod(0)
    assert trouble(look(computer)).code == "NO_PERMISSION"


def test_an_absurd_count(computer: Computer, look: Look) -> None:
    computer.driver().say(f"nvml.count 4000000000\n{gpu(1, '8.9')}\n{gpu(2, '8.6')}")
    found = look(computer)
    assert (archs(found), found.notes) == (["sm_89", "sm_86"], ())


def test_an_absurd_driver_version_is_taken_from_the_kernel(computer: Computer, look: Look) -> None:
    found = look(computer.driver().say(f"nvml.driver garbage\n{gpu(1, '8.9')}"))
    assert found.driver is not None
    assert (found.driver.version, found.driver.source) == ("580.95.05", "/sys/module/nvidia/version")


def test_a_driver_that_is_there_and_sees_nothing(computer: Computer, look: Look) -> None:
    """NVIDIA_VISIBLE_DEVICES=none: the libraries, and no device."""
    computer.driver(gpus=0).file("/.dockerenv").pci("0000:01:00.0", RTX_4090).say("cuda.init 100")
    assert trouble(look(computer)).code == "GPU_NOT_PASSED_IN"


def test_all_gpus_lost_or_forbidden(computer: Computer, look: Look) -> None:
    computer.driver(gpus=2)
    lost = "\n".join(gpu(each, "8.9", handle="15", cuda="no") for each in (1, 2))
    for said, code, text in (
        (lost, "GPU_LOST", "the driver has lost 2 NVIDIA GPUs (status 15)"),
        (lost.replace("handle=15", "cap=15"), "GPU_LOST", "the driver has lost 2 NVIDIA GPUs (status 15)"),
        (lost.replace("handle=15", "handle=4", 1), "GPU_LOST", "the driver has lost 2 NVIDIA GPUs (status 4)"),
        (lost.replace("handle=15", "handle=4"), "NO_PERMISSION", "the driver refuses all 2 GPUs to this user or job"),
    ):
        found = trouble(look(computer.say(said)))
        assert (found.code, found.text) == (code, text)
