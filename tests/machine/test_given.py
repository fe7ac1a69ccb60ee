"""Flags and variables as facts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given as facts_of
from torchpick.machine.given import MachineOverrides
from torchpick.model.machine import TIMEOUT_S, Driver
from torchpick.model.pick import Request


def told(request: Request, environ: Mapping[str, str]) -> MachineOverrides:
    return facts_of.read_overrides(request, Knowledge(environ))


@pytest.mark.parametrize("only", ["", "a", "0,", "-1", "0;1", "99999"])
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


@pytest.mark.parametrize(
    ("platform", "hint"),
    [
        ("linux-riscv64", "one of linux-x86_64, "),
        ("linux-ppc64le", "one of linux-x86_64, "),
    ],
)
def test_a_platform_that_is_not_ours_is_not_taken_for_another(platform: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(platform=platform), {})

    assert caught.value.message == f"`{platform}` is not a supported platform"
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("Radeon", "gfx1100"),
        ("Instinct", "gfx1100"),
        ("Radeon RX 7900 ABC", "similar names: "),
        ("Intel Arc B999", "`--backend xpu`"),
        ("Apple pie", "`M3 Max`"),
        ("rtx 9090", "similar names"),
        ("gfxx", "gfx1100"),
    ],
)
def test_an_unknown_name_is_answered_in_its_makers_way(spec: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(gpus=(spec,)), {})

    assert words in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("spec", "vendor", "arch", "platform"),
    [
        ("rx7900xtx", "amd", "gfx1100", None),
        ("AMD Radeon RX 7900 XTX", "amd", "gfx1100", None),
        ("AMD Radeon(TM) 780M Graphics", "amd", "gfx1103", None),
        ("radeon-780m", "amd", "gfx1103", None),
        ("RX 7700", "amd", "gfx1101", None),
        ("RX 7700S", "amd", "gfx1102", None),
        ("RX 6800", "amd", "gfx1030", None),
        ("RX 6800M", "amd", "gfx1031", None),
        ("RX 6800S", "amd", "gfx1032", None),
        ("MI50", "amd", "gfx906", None),
        ("MI300X", "amd", "gfx942", None),
        ("Ryzen AI Max+ 395", "amd", "gfx1151", None),
        ("Steam Deck", "amd", "gfx1033", None),
        ("radeon-pro-v520", "amd", "gfx1011", None),
        ("gfx906:sramecc+:xnack-", "amd", "gfx906", None),
        ("GFX90A", "amd", "gfx90a", None),
        ("Arc B580", "intel", None, None),
        ("Intel(R) Arc(TM) A770 Graphics", "intel", None, None),
        ("Intel(R) Data Center GPU Max 1550", "intel", None, None),
        ("M3 Max", "apple", None, "macos-arm64"),
        ("apple m1", "apple", None, "macos-arm64"),
        ("M4", "apple", None, "macos-arm64"),
        ("Orin", "nvidia", "sm_87", "linux-aarch64"),
        ("8.7", "nvidia", "sm_87", "linux-aarch64"),
        ("NVIDIA GB10", "nvidia", "sm_121", "linux-aarch64"),
        ("GH200-96C", "nvidia", "sm_90", "linux-aarch64"),
        ("nvidia-gb200", "nvidia", "sm_100", "linux-aarch64"),
        ("H100", "nvidia", "sm_90", None),
    ],
)
def test_a_name_finds_its_maker_and_the_platform_it_implies(
    spec: str, vendor: str, arch: str | None, platform: str | None
) -> None:
    facts = told(Request(gpus=(spec,)), {})

    assert facts.gpus is not None
    (gpu,) = facts.gpus
    assert (gpu.vendor, None if gpu.arch is None else str(gpu.arch)) == (vendor, arch)
    assert (None if facts.platform is None else facts.platform.name) == platform
    assert ("PLATFORM_ASSUMED" in [note.code for note in facts.notes]) is (platform is not None)


@pytest.mark.parametrize(
    ("gpus", "platform"),
    [
        (("orin",), "linux-x86_64"),
        (("GH200",), "windows-x86_64"),
        (("M3 Max",), "linux-x86_64"),
        (("M3 Max", "orin"), None),
    ],
)
def test_a_platform_that_contradicts_the_gpu_is_refused(gpus: tuple[str, ...], platform: str | None) -> None:
    with pytest.raises(UsageError):
        told(Request(gpus=gpus, platform=platform), {})


@pytest.mark.parametrize(
    ("platform", "macos"), [("linux-x86_64", "14"), ("macos-arm64", "x"), ("macos-arm64", "9.9"), ("macos-arm64", "")]
)
def test_a_macos_that_is_none_is_refused(platform: str | None, macos: str) -> None:
    with pytest.raises(UsageError):
        told(Request(gpus=("none",), platform=platform, macos=macos), {})


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
