"""Pythons in a person's words."""

from __future__ import annotations

import pytest

from torchpick.model.pythons import python_span


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (("cp310", "cp39", "cp311"), "3.9 to 3.11"),
        (("cp312",), "3.12"),
        (("cp36", "cp37", "cp38", "cp314", "cp315", "cp314t"), "3.6 to 3.8, 3.14 to 3.15, 3.14t"),
        (("cp313t",), "3.13t"),
        ((), "none"),
    ],
)
def test_a_span_hides_no_gap(tags: tuple[str, ...], words: str) -> None:
    assert python_span(tags) == words


@pytest.mark.parametrize("tag", ["cp" + "9" * 5000, "9" * 5000, "cp²"])
def test_a_damaged_tag_has_its_place_too(tag: str) -> None:
    assert "3.12" in python_span(("cp312", tag))
