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
from torchpick.model.pythons import version_of


def told(request: Request, environ: Mapping[str, str]) -> MachineOverrides:
    return facts_of.read_overrides(request, Knowledge(environ))


def test_nothing_told_is_nothing() -> None:
    facts = told(Request(), {})

    assert (facts.gpus, facts.driver, facts.platform, facts.glibc, facts.python, facts.only) == (None,) * 6


def test_none_is_no_gpu() -> None:
    assert told(Request(gpus=("none",)), {}).gpus == ()


@pytest.mark.parametrize("spelling", ["6.1", "61", "sm_61", " SM_61 "])
def test_spellings_of_a_capability_mean_the_same(spelling: str) -> None:
    facts = told(Request(gpus=(spelling,)), {})

    assert facts.gpus is not None
    assert [str(gpu.arch) for gpu in facts.gpus] == ["sm_61"]
    assert facts.gpus[0].name is None


def test_variables_stand_in_for_flags_and_flags_win() -> None:
    environ = {"TORCHPICK_GPU": "6.1, 8.6", "TORCHPICK_DRIVER": "580.95.05", "TORCHPICK_PLATFORM": "linux-aarch64"}

    from_variables = told(Request(), environ)
    from_flags = told(Request(gpus=("75",), driver="535.1", platform="linux-x86_64"), environ)

    assert from_variables.gpus is not None
    assert len(from_variables.gpus) == 2
    assert from_variables.driver == Driver("580.95.05")
    assert from_variables.platform is not None
    assert from_variables.platform.name == "linux-aarch64"
    assert from_flags.gpus is not None
    assert [str(gpu.arch) for gpu in from_flags.gpus] == ["sm_75"]
    assert from_flags.driver == Driver("535.1")


@pytest.mark.parametrize("only", ["", "a", "0,", "-1", "0;1", "99999"])
def test_a_list_of_gpus_that_is_none_is_refused(only: str) -> None:
    with pytest.raises(UsageError):
        told(Request(only=only), {})


def test_a_list_of_gpus_is_read() -> None:
    assert told(Request(only="0, 2"), {}).only == (0, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.12", True),
        ("3.14t", True),
        ("3.12.1", True),
        ("٣.١", False),
        ("3", False),
        ("./3.12", False),
        ("/usr/bin/python3", False),
    ],
)
def test_a_python_is_a_version_or_a_path(text: str, expected: bool) -> None:
    assert (version_of(text) is not None) is expected


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
        ("gfx11-generic", "gfx1100, gfx1101"),
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


def test_on_other_platforms_an_m4_is_the_tesla() -> None:
    facts = told(Request(gpus=("M4",), platform="linux-x86_64"), {})

    assert facts.gpus is not None
    assert [str(gpu.arch) for gpu in facts.gpus] == ["sm_52"]


def test_the_flag_takes_commas_as_the_variable_does() -> None:
    facts = told(Request(gpus=("a100,v100", "t4")), {})

    assert facts.gpus is not None
    assert [str(gpu.arch) for gpu in facts.gpus] == ["sm_80", "sm_70", "sm_75"]
    with pytest.raises(UsageError):
        told(Request(gpus=("",)), {})


def test_a_mac_elsewhere_needs_no_gpu_and_tells_its_version() -> None:
    facts = told(Request(platform="macos-arm64", macos="14.2"), {})

    assert facts.gpus is not None
    assert [gpu.vendor for gpu in facts.gpus] == ["apple"]
    assert facts.platform is not None
    assert facts.platform.macos == "14.2"
    assert told(Request(platform="macos-x86_64"), {}).gpus == ()


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
