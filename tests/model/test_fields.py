"""JSON is read exactly, and every complaint names its place."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import Python

VALUE = {"name": "x", "size": 3, "on": True, "parts": ["a", "b"], "inside": {"deep": [{"at": "y"}]}, "gone": None}


@pytest.mark.parametrize(
    ("read", "path", "message"),
    [
        (lambda fields: fields.text("size"), "size", "must be a string, not a number"),
        (lambda fields: fields.number("on"), "on", "must be an integer, not a boolean"),
        (lambda fields: fields.flag("name"), "name", "must be a boolean, not a string"),
        (lambda fields: fields.texts("name"), "name", "must be a list, not a string"),
        (lambda fields: fields.text("never"), "never", "is missing"),
        (lambda fields: fields.object("parts"), "parts", "must be an object, not a list"),
        (
            lambda fields: fields.object("inside").objects("deep")[0].number("at"),
            "inside.deep[0].at",
            "must be an integer",
        ),
    ],
)
def test_a_complaint_names_the_path(read: object, path: str, message: str) -> None:
    with pytest.raises(ShapeError, match=message) as caught:
        read(Fields(VALUE))  # type: ignore[operator]

    assert caught.value.path == path


@pytest.mark.parametrize("text", ["", "{", '{"a": }', "[" * 100_000, b"\xff\xfe", "nul"])
def test_what_is_no_json_is_a_shape_error(text: str | bytes) -> None:
    with pytest.raises(ShapeError, match="is not JSON"):
        loads(text)


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
