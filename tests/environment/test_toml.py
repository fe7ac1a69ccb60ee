"""What is no TOML, or more than a parser takes, is a ValueError and nothing else."""

from __future__ import annotations

import pytest

from torchpick.environment import toml
from torchpick.errors import TorchpickError


def test_a_table_is_read() -> None:
    assert toml.loads('a = 1\n[b]\nc = "d"') == {"a": 1, "b": {"c": "d"}}


@pytest.mark.parametrize("text", ["a = ", "a = " + "9" * 5000, "a = " + "[" * 5000, "a" + ".a" * 200 + " = 1"])
def test_what_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml.loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"b\n\x7fä', '"a\\"b\\n\\u007fä"'), (True, "true"), (["a", ["b"]], '["a", ["b"]]'),
        (({"extra": "a"}, {"b c": False}), '[{ extra = "a" }, { "b c" = false }]'),
        ({"index": "x", "list": ("y",)}, '{ index = "x", list = ["y"] }'), ([], "[]"),
    ],
)  # fmt: skip
def test_a_value_on_one_line_is_read_back_as_it_was(value: object, text: str) -> None:
    assert toml.inline(value) == text
    assert toml.inline(toml.loads(f"x = {text}")["x"]) == text


@pytest.mark.parametrize(
    ("name", "key"),
    [("cu126", "cu126"), ("a-b_c", "a-b_c"), ("_", "_"), ("a.b", '"a.b"'), ("", '""'), ("ä", '"ä"')],
)
def test_a_key_is_quoted_where_it_must_be(name: str, key: str) -> None:
    assert toml.key(name) == key
    assert toml.loads(f"{key} = 1") == {name: 1}


def test_what_is_not_there_is_an_empty_table_and_no_texts() -> None:
    data = {"a": {"b": {"c": 1}, "d": 3}}

    assert toml.table_at(data, "a", "b") == {"c": 1}
    assert [toml.table_at(data, *path) for path in (("a", "d"), ("a", "x", "y"), ("a", "d", "e"))] == [{}, {}, {}]
    assert toml.table_at(3) == {}
    assert (toml.texts(["a", 1, "b", ["c"]]), toml.texts("a"), toml.texts(None)) == (["a", "b"], [], [])


def test_what_cannot_be_read_is_named_where_a_person_reads_it() -> None:
    with pytest.raises(TorchpickError, match=r"^pyproject\.toml is not TOML: ") as caught:
        toml.read("= =", "pyproject.toml")
    assert (caught.value.code, caught.value.hint) == ("TOML", "fix that line first")
    assert toml.read("a = 1") == {"a": 1}


@pytest.mark.parametrize(("depth", "deep"), [(98, False), (101, True)])
def test_tables_may_stand_in_one_another_as_deep_as_anybody_means(depth: int, *, deep: bool) -> None:
    text = "a" + ".a" * (depth - 1) + " = 1"

    if deep:
        with pytest.raises(ValueError, match="nested deeper than 100 tables"):
            toml.loads(text)
    else:
        assert "a" in toml.loads(text)
