"""What is no TOML, or more than a parser takes, is a ValueError and nothing else."""

from __future__ import annotations

import pytest

from torchpick.environment import toml


@pytest.mark.parametrize("text", ["a = ", "a = " + "9" * 5000, "a = " + "[" * 5000, "a" + ".a" * 200 + " = 1"])
def test_what_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml.loads(text)


@pytest.mark.parametrize(("depth", "deep"), [(98, False), (101, True)])
def test_tables_may_stand_in_one_another_as_deep_as_anybody_means(depth: int, *, deep: bool) -> None:
    text = "a" + ".a" * (depth - 1) + " = 1"

    if deep:
        with pytest.raises(ValueError, match="nested deeper than 100 tables"):
            toml.loads(text)
    else:
        assert "a" in toml.loads(text)
