"""Flags and variables as facts."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.errors import UsageError
from torchpick.model.machine import Driver
from torchpick.request import Request
from torchpick.told import is_version, told

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
    [("3.12", True), ("3.14t", True), ("3", False), ("./3.12", False), ("/usr/bin/python3", False)],
)
def test_a_python_is_a_version_or_a_path(text: str, expected: bool) -> None:
    assert is_version(text) is expected


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
