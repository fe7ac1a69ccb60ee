"""JSON is read exactly, and every complaint names its place."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.fields import Fields, ShapeError, loads

VALUE = {"name": "x", "size": 3, "on": True, "parts": ["a", "b"], "inside": {"deep": [{"at": "y"}]}, "gone": None}


def test_values_are_read_by_their_kind() -> None:
    fields = Fields(VALUE)

    assert (fields.text("name"), fields.number("size"), fields.flag("on")) == ("x", 3, True)
    assert fields.texts("parts") == ("a", "b")
    assert fields.object("inside").objects("deep")[0].text("at") == "y"
    assert fields.maybe_text("gone") is None
    assert fields.maybe_text("never") is None


@pytest.mark.parametrize(
    ("read", "path", "message"),
    [
        (lambda fields: fields.text("size"), "size", "must be text, is a number"),
        (lambda fields: fields.number("on"), "on", "must be a whole number, is true or false"),
        (lambda fields: fields.flag("name"), "name", "must be true or false, is text"),
        (lambda fields: fields.texts("name"), "name", "must be a list, is text"),
        (lambda fields: fields.text("never"), "never", "is missing"),
        (lambda fields: fields.object("parts"), "parts", "must be an object, is a list"),
        (
            lambda fields: fields.object("inside").objects("deep")[0].number("at"),
            "inside.deep[0].at",
            "must be a whole",
        ),
        (lambda fields: fields.only("name"), "size", "is not a key of this format"),
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
