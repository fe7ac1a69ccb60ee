"""What is no TOML, or more than a parser takes, is a ValueError and nothing else."""

from __future__ import annotations

import pytest

from torchpick.environment import toml


def test_a_table_is_read() -> None:
    assert toml.loads('a = 1\n[b]\nc = "d"') == {"a": 1, "b": {"c": "d"}}


@pytest.mark.parametrize("text", ["a = ", "a = " + "9" * 5000, "a = " + "[" * 5000, "a" + ".a" * 200 + " = 1"])
def test_what_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml.loads(text)
