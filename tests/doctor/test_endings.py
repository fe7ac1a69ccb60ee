"""Whose an error is that no signature knows, and what is asked where a text has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.doctor.test_explanation import explained

pytestmark = pytest.mark.process
CASES = json.loads((Path(__file__).parent / "endings.json").read_text("utf-8"))

TRACEBACK = "Traceback (most recent call last):"
OWN = '  File "/home/me/train.py", line 3, in <module>'
OF_TORCH = '  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1553, in _call_impl'


def of(package: str) -> str:
    return f'  File "/env/lib/python3.11/site-packages/{package}/core.py", line 9, in f'


@pytest.mark.parametrize(
    ("lines", "cause", "owner"), CASES["an_error_that_is_not_known_is_that_of_the_package_which_raised_it"]
)
def test_an_error_that_is_not_known_is_that_of_the_package_which_raised_it(
    lines: tuple[str, ...], cause: str, owner: str, home: Home
) -> None:
    (error,) = explained(home, "it fails with torch 2.6.0+cu124", "and made-up 1.2.3", TRACEBACK, *lines).errors

    assert (error.cause.id, error.match.package) == (cause, owner)
    advice = " ".join((error.cause.title, error.cause.meaning, *error.cause.cures))
    assert owner in advice
    assert "torch==2.6.0" in advice or cause not in ("PACKAGE_RAISED", "PACKAGE_API", "PACKAGE_PLATFORM")
    assert ("before 1.2.3" in advice) == (
        owner in ("made-up", "made_up") and cause in ("PACKAGE_RAISED", "PACKAGE_API")
    )


@pytest.mark.parametrize(("lines", "asked"), CASES["what_is_asked_fits_the_text_and_is_not_in_it"])
def test_what_is_asked_fits_the_text_and_is_not_in_it(lines: tuple[str, ...], asked: str, home: Home) -> None:
    found = explained(home, *lines)

    assert found.errors == ()
    assert asked in found.question


def test_a_warning_of_what_may_come_is_not_what_came(home: Home) -> None:
    warned = "If you get `CUDA error: invalid device function` errors, the above might be the cause"
    found = explained(home, "torch", warned, TRACEBACK, OWN, of("made_up"), "ValueError: bad")

    assert found.errors[0].cause.id == "PACKAGE_RAISED"


def test_of_a_long_last_line_the_start_is_shown(home: Home) -> None:
    (error,) = explained(home, "torch", TRACEBACK, OWN, of("made_up"), f"ValueError: bad {'y' * 9000}").errors

    assert error.match.text.startswith("ValueError: bad yyy")
    assert len(error.match.text) < 310


@pytest.mark.parametrize(("lines", "cause"), CASES["the_rest_of_the_text_says_which_of_several_causes_it_is"])
def test_the_rest_of_the_text_says_which_of_several_causes_it_is(
    lines: tuple[str, ...], cause: str, home: Home
) -> None:
    found = explained(home, "torch 1.13.1", *lines)

    assert found.errors[0].cause.id == cause


def test_what_the_text_excludes_is_not_its_cause(home: Home) -> None:
    title = "Made-up is not finding the GPU"

    assert [error.cause.id for error in explained(home, f"torch: {title}").errors] == ["CUDA_NOT_AVAILABLE"]
    assert explained(home, f"{title} but TF, PyTorch and nvcc does").errors == ()


def test_what_is_to_be_done_has_the_numbers_of_the_text(home: Home) -> None:
    gcc = "unsupported GNU version! gcc versions later than 8 are not supported!"

    assert "g++-8" in explained(home, gcc).errors[0].cause.cures[0]
