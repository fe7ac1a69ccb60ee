"""JSON is read exactly, and every complaint names its place."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import envelope
from torchpick.errors import UsageError
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import COMPILES, JIT, NO_CODE, NOT, PARTLY, RUNS, UNJUDGED, Objection, Reason
from torchpick.model.fields import Fields, ShapeError, loads, plain, written
from torchpick.model.finding import SEVERITIES
from torchpick.model.machine import VENDORS, Driver, Gpu, Note, Python, Trouble
from torchpick.model.package import NOT_READ

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


@pytest.mark.parametrize(("noun", "name"), [
    (Note("A", "b"), "note"), (Trouble("A", "b", "c"), "error"), (Python("3.12"), "python"),
    (Driver("580.95", None, cuda_source="nvml"), "driver"), (Gpu(0, "nvidia", None, None), "gpu"),
])  # fmt: skip
def test_what_a_noun_declares_is_what_is_written_and_what_the_schema_lists(noun: Note, name: str) -> None:
    definitions = envelope.ENVELOPE["$defs"]
    assert isinstance(definitions, dict)

    assert list(written(noun)) == list(noun._fields) == list(definitions[name]["properties"])
    assert plain((noun,)) == [written(noun)]


def test_the_schema_lists_every_value_that_is_one_of_a_few() -> None:
    listed = {name: each["properties"] for name, each in envelope.ENVELOPE["$defs"].items()}

    assert listed["objection"]["code"]["enum"] == [reason.name for reason in Reason]
    assert listed["fit"]["fit"]["enum"] == [fit.word for fit in Fit]
    assert listed["gpu"]["vendor"]["enum"] == list(VENDORS)
    assert listed["finding"]["severity"]["enum"] == list(SEVERITIES)
    assert listed["pinned"]["verdict"]["enum"] == [RUNS, JIT, PARTLY, COMPILES, NO_CODE, UNJUDGED, NOT_READ]
    assert listed["result"]["verdict"]["anyOf"][0]["enum"] == [RUNS, JIT, PARTLY, NOT, NO_CODE, COMPILES]


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


def test_what_stands_in_tuples_and_mappings_is_written_too() -> None:
    value = {
        "inside": (Note("A", "b"), Arch("sm", 6, 1), Fit.JIT, 3, True, None),
        "error": UsageError("no", hint="yes"),
    }

    assert plain(value) == {
        "inside": [{"code": "A", "text": "b"}, "sm_61", "jit", 3, True, None],
        "error": {"code": "USAGE", "text": "no", "hint": "yes"},
    }


def test_properties_are_written_by_name_and_what_is_optional_is_left_out() -> None:
    objection = Objection(Reason.YANKED)

    assert objection.to_dict() == {"code": "YANKED", "text": "it was withdrawn"}
    assert objection._replace(gpu=0).to_dict() == {"code": "YANKED", "text": "it was withdrawn", "gpu": 0}
    assert written(objection, "code", "gpu") == {"code": "YANKED", "gpu": None}
