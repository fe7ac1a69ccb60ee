"""JSON is read exactly, and every complaint names its place."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import Python


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_a_shape_error(data: bytes) -> None:
    with contextlib.suppress(ShapeError):
        loads(data)


def test_a_python_is_read_with_its_defaults() -> None:
    assert Python.from_json(Fields({"version": "3.12", "source": None})) == Python("3.12")
    for value, message in (
        ({}, "version: is missing"),
        ({"version": 3}, "version: must be a string, not a number"),
        ({"version": "3.12", "free_threaded": "no"}, "free_threaded: must be a boolean, not a string"),
        ({"version": "3.12", "exact": "x" * 300}, "exact: has 300 characters, more than 256"),
    ):
        with pytest.raises(ShapeError, match=message):
            Python.from_json(Fields(value))
