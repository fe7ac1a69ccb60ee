"""Flags and variables as facts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import interpreter
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given as facts_of
from torchpick.machine.given import MachineOverrides
from torchpick.model.machine import TIMEOUT_S, Driver, Machine, Platform, Python
from torchpick.model.pick import Request


def told(request: Request, environ: Mapping[str, str]) -> MachineOverrides:
    return facts_of.read_overrides(request, Knowledge(environ))


@pytest.mark.parametrize("only", ["", "a", "0,", "-1", "0;1", "99999", "\N{SUPERSCRIPT TWO}"])
def test_a_list_of_gpus_that_is_none_is_refused(only: str) -> None:
    with pytest.raises(UsageError):
        told(Request(only=only), {})


def test_drivers_have_numbers_between_300_and_2000() -> None:
    for version in ("300", "1999.1"):
        assert told(Request(driver=version), {}).driver == Driver(version, None, "given")
    for version in ("299.99", "2000"):
        with pytest.raises(UsageError):
            told(Request(driver=version), {})


def test_a_list_of_gpus_is_read() -> None:
    assert told(Request(only="0, 2"), {}).only == (0, 2)


@pytest.mark.parametrize(("platform", "hint"), [
    ("linux-riscv64", "one of linux-x86_64, "), ("linux-ppc64le", "one of linux-x86_64, "),
])  # fmt: skip
def test_a_platform_that_is_not_ours_is_not_taken_for_another(platform: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(platform=platform), {})

    assert caught.value.message == f"`{platform}` is not a supported platform"
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(("spec", "words"), [
    ("Radeon", "gfx1100"), ("Instinct", "gfx1100"), ("Radeon RX 7900 ABC", "similar names: "),
    ("Intel Arc B999", "`--backend xpu`"), ("Apple pie", "`M3 Max`"), ("rtx 9090", "similar names"),
    ("gfxx", "gfx1100"),
])  # fmt: skip
def test_an_unknown_name_is_answered_in_its_makers_way(spec: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(gpus=(spec,)), {})

    assert words in (caught.value.hint or "")


@pytest.mark.parametrize(("spec", "vendor", "arch", "platform"), [
    ("rx7900xtx", "amd", "gfx1100", None), ("AMD Radeon RX 7900 XTX", "amd", "gfx1100", None),
    ("AMD Radeon(TM) 780M Graphics", "amd", "gfx1103", None), ("radeon-780m", "amd", "gfx1103", None),
    ("RX 7700", "amd", "gfx1101", None), ("RX 7700S", "amd", "gfx1102", None), ("RX 6800", "amd", "gfx1030", None),
    ("RX 6800M", "amd", "gfx1031", None), ("RX 6800S", "amd", "gfx1032", None), ("MI50", "amd", "gfx906", None),
    ("MI300X", "amd", "gfx942", None), ("Ryzen AI Max+ 395", "amd", "gfx1151", None),
    ("Steam Deck", "amd", "gfx1033", None), ("radeon-pro-v520", "amd", "gfx1011", None),
    ("gfx906:sramecc+:xnack-", "amd", "gfx906", None), ("GFX90A", "amd", "gfx90a", None),
    ("Arc B580", "intel", None, None), ("Intel(R) Arc(TM) A770 Graphics", "intel", None, None),
    ("Intel(R) Data Center GPU Max 1550", "intel", None, None), ("M3 Max", "apple", None, "macos-arm64"),
    ("apple m1", "apple", None, "macos-arm64"), ("M4", "apple", None, "macos-arm64"),
    ("Orin", "nvidia", "sm_87", "linux-aarch64"), ("8.7", "nvidia", "sm_87", "linux-aarch64"),
    ("NVIDIA GB10", "nvidia", "sm_121", "linux-aarch64"), ("GH200-96C", "nvidia", "sm_90", "linux-aarch64"),
    ("nvidia-gb200", "nvidia", "sm_100", "linux-aarch64"), ("H100", "nvidia", "sm_90", None),
])  # fmt: skip
def test_a_name_finds_its_maker_and_the_platform_it_implies(
    spec: str, vendor: str, arch: str | None, platform: str | None
) -> None:
    facts = told(Request(gpus=(spec,)), {})

    assert facts.gpus is not None
    (gpu,) = facts.gpus
    assert (gpu.vendor, None if gpu.arch is None else str(gpu.arch)) == (vendor, arch)
    assert (None if facts.platform is None else facts.platform.name) == platform
    assert ("PLATFORM_ASSUMED" in [note.code for note in facts.notes]) is (platform is not None)


@pytest.mark.parametrize(("gpus", "platform"), [
    (("orin",), "linux-x86_64"), (("GH200",), "windows-x86_64"), (("M3 Max",), "linux-x86_64"),
    (("M3 Max", "orin"), None),
])  # fmt: skip
def test_a_platform_that_contradicts_the_gpu_is_refused(gpus: tuple[str, ...], platform: str | None) -> None:
    with pytest.raises(UsageError):
        told(Request(gpus=gpus, platform=platform), {})


@pytest.mark.parametrize(
    ("platform", "macos"), [("linux-x86_64", "14"), ("macos-arm64", "x"), ("macos-arm64", "9.9"), ("macos-arm64", "")]
)
def test_a_macos_that_is_none_is_refused(platform: str | None, macos: str) -> None:
    with pytest.raises(UsageError):
        told(Request(gpus=("none",), platform=platform, macos=macos), {})


@pytest.mark.parametrize(("name", "good", "bad"), [
    ("TORCHPICK_DETECT_TIMEOUT", "0.1 30 600 600.0", "0.09 600.1 1.2.3 x -1 1e2"),
    ("TORCHPICK_DRIVER", "300 535.x v550.54 1999.9", "299.9 2000 x 535.y"),
    ("TORCHPICK_CUDA_DRIVER", "7.0 12.8 99.9", "6.9 100.0 12 12.8.1 x"),
    ("TORCHPICK_PLATFORM", "wsl WSL2 windows-x86_64 macos-arm64 linux-s390x", "linux bsd Linux-x86_64"),
    ("TORCHPICK_GPU", "sm_86 rtx3090,RTX3080 none", "none,sm_86 rtx9999"),
])  # fmt: skip
def test_a_variable_is_held_to_its_bounds_and_empty_it_is_unset(name: str, good: str, bad: str) -> None:
    for value in good.split():
        assert told(Request(), {name: value}) != told(Request(), {name: ""}) == told(Request(), {}) or value == "30"
    for value in bad.split():
        with pytest.raises(UsageError):
            told(Request(), {name: value})


def test_a_flag_beats_its_variable_and_each_word_is_read_as_it_is_meant() -> None:
    environ = {"TORCHPICK_DRIVER": "535", "TORCHPICK_GPU": "sm_61", "TORCHPICK_CUDA_DRIVER": "12.2"}
    found = told(Request(driver="v580.x", gpus=("sm_75", "sm_86,sm_90"), cuda_driver="13.0"), environ)
    assert (found.driver, [str(gpu.arch) for gpu in found.gpus or ()]) == (
        Driver("580", "13.0", "given", "given"), ["sm_75", "sm_86", "sm_90"],
    )  # fmt: skip
    assert told(Request(), environ).driver == Driver("535", "12.2", "given", "given")
    assert told(Request(gpus=("None",)), environ).gpus == ()
    assert told(Request(), {"TORCHPICK_GPU": " , "}).gpus is None
    for empty in ("", ","):
        with pytest.raises(UsageError):
            told(Request(gpus=(empty,)), {})
    assert [told(Request(platform=name), {}).wsl for name in ("wsl", "WSL2", "linux-x86_64")] == [True, True, False]
    for more in ({}, {"gpus": ("sm_86",)}):
        with pytest.raises(UsageError, match="--gpus visible"):
            told(Request(visible_only=True, **more), environ)  # type: ignore[arg-type]
    assert told(Request(visible_only=True), {}).visible_only
    with pytest.raises(UsageError, match="does not apply"):
        told(Request(glibc="2.28", platform="macos-arm64", gpus=("none",)), {})
    assert told(Request(glibc="2.28"), {"TORCHPICK_PLATFORM": "windows-x86_64"}).glibc == "2.28"
    with pytest.raises(UsageError, match="more than one machine has"):
        told(Request(gpus=("sm_86",) * 1025), {})
    assert len(told(Request(gpus=("sm_86",) * 1024), {}).gpus or ()) == 1024
    for macos in ("10.9", "26.1", "99"):
        platform = told(Request(platform="macos-x86_64", macos=macos), {}).platform
        assert platform is not None
        assert platform.macos == macos


def test_a_mac_elsewhere_has_the_gpu_that_it_has_and_an_arm_gpu_its_platform() -> None:
    arm, intel = (told(Request(platform=name), {}) for name in ("macos-arm64", "macos-x86_64"))
    assert [(gpu.vendor, gpu.integrated) for gpu in arm.gpus or ()] == [("apple", True)]
    assert ([note.code for note in arm.notes], intel.gpus, intel.notes) == (["PLATFORM_ASSUMED"], (), ())
    windows = told(Request(gpus=("GB10",), platform="windows-arm64"), {}).platform
    assert windows is not None
    assert windows.name == "windows-arm64"
    assert [gpu.vendor for gpu in told(Request(gpus=("M3 Max",), platform="macos-arm64"), {}).gpus or ()] == ["apple"]
    here = Machine(Platform("linux", "aarch64"), Python("3.12"))
    for running, codes in (({"running": lambda: here}, []), ({}, ["PLATFORM_ASSUMED"])):
        with pytest.MonkeyPatch.context() as patch:
            for name, function in running.items():
                patch.setattr(interpreter, name, function)
            assert [note.code for note in told(Request(gpus=("Orin",)), {}).notes] == codes
    uhd = told(Request(gpus=("UHD 630", "sm_86")), {})
    assert [(gpu.vendor, gpu.counted) for gpu in uhd.gpus or ()] == [("intel", False), ("nvidia", True)]
    assert [note.code for note in uhd.notes] == ["INTEL_NOT_SUPPORTED"]


def test_the_timeout_without_the_variable_is_the_detectors_own() -> None:
    assert told(Request(), {}).timeout == MachineOverrides().timeout == TIMEOUT_S


@given(
    driver=st.one_of(st.none(), st.text(max_size=8)),
    cuda=st.one_of(st.none(), st.text(max_size=8)),
    platform=st.one_of(st.none(), st.text(max_size=8)),
    glibc=st.one_of(st.none(), st.text(max_size=8)),
)
def test_any_text_is_a_fact_or_a_usage_error(
    driver: str | None, cuda: str | None, platform: str | None, glibc: str | None
) -> None:
    request = Request(driver=driver, cuda_driver=cuda, platform=platform, glibc=glibc)
    with contextlib.suppress(UsageError):
        told(request, {})
