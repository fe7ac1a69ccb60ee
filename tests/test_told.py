"""Flags and variables as facts."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.errors import UsageError
from torchpick.model.machine import TIMEOUT_S, Driver
from torchpick.request import Request
from torchpick.told import Told, is_version, told

KNOWN = frozenset({"6.1", "7.5", "8.6", "12.0"})


def test_nothing_told_is_nothing() -> None:
    facts = told(Request(), KNOWN, {})

    assert (facts.gpus, facts.driver, facts.platform, facts.glibc, facts.python, facts.only) == (None,) * 6


def test_none_is_no_gpu() -> None:
    assert told(Request(gpus=("none",)), KNOWN, {}).gpus == ()


@pytest.mark.parametrize("spelling", ["6.1", "61", "sm_61", " SM_61 "])
def test_spellings_of_a_capability_mean_the_same(spelling: str) -> None:
    facts = told(Request(gpus=(spelling,)), KNOWN, {})

    assert facts.gpus is not None
    assert [str(gpu.arch) for gpu in facts.gpus] == ["sm_61"]
    assert facts.gpus[0].name is None


def test_variables_stand_in_for_flags_and_flags_win() -> None:
    environ = {"TORCHPICK_GPU": "6.1, 8.6", "TORCHPICK_DRIVER": "580.95.05", "TORCHPICK_PLATFORM": "linux-aarch64"}

    from_variables = told(Request(), KNOWN, environ)
    from_flags = told(Request(gpus=("75",), driver="535.1", platform="linux-x86_64"), KNOWN, environ)

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
        told(Request(only=only), KNOWN, {})


def test_a_list_of_gpus_is_read() -> None:
    assert told(Request(only="0, 2"), KNOWN, {}).only == (0, 2)


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
    assert is_version(text) is expected


@pytest.mark.parametrize(
    ("platform", "hint"),
    [
        ("linux-s390x", "one of linux-x86_64, "),
        ("linux-ppc64le", "one of linux-x86_64, "),
        ("linux-amd64", "did you mean `linux-x86_64`?"),
        ("linux_x86-64", "did you mean `linux-x86_64`?"),
        ("linux-arm64", "did you mean `linux-aarch64`?"),
        ("macos-aarch64", "did you mean `macos-arm64`?"),
        ("win-x64", "did you mean `windows-x86_64`?"),
        ("linux-x86_46", "did you mean `linux-x86_64`?"),
    ],
)
def test_a_platform_that_is_not_ours_is_not_taken_for_another(platform: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(platform=platform), KNOWN, {})

    assert caught.value.message == f"`{platform}` is none of the platforms that torchpick answers for"
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rx 7900 xtx", "gfx1100; `rocminfo`"),
        ("Radeon", "gfx1100"),
        ("AMD Radeon Pro W7900", "gfx1100"),
        ("Instinct", "gfx1100"),
        ("MI300X", "gfx1100"),
        ("Intel Arc A770", "`--backend xpu`"),
        ("arc b580", "`--backend xpu`"),
        ("rtx 9090", "close to it"),
    ],
)
def test_a_product_of_another_vendor_is_answered_with_its_own_way(spec: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(Request(gpus=(spec,)), KNOWN, {})

    assert words in (caught.value.hint or "")


def test_the_timeout_without_the_variable_is_the_detectors_own() -> None:
    assert told(Request(), KNOWN, {}).timeout == Told().timeout == TIMEOUT_S


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
        told(request, KNOWN, {})
