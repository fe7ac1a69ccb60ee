"""A readable file holds exactly its value, and reads as a diff should."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scripts.table import layout

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_what_is_read(value: object) -> None:
    assert json.loads(layout.readable(value)) == value


def test_a_row_has_a_key_a_line_and_a_list_stays_on_its_line(tmp_path: Path) -> None:
    layout.write(tmp_path / "deep" / "file.json", {"builds": [{"arches": ["sm_50", "sm_60"], "of": {"a": {}}}]})

    assert (tmp_path / "deep" / "file.json").read_text("utf-8") == (
        '{\n "builds": [\n  {\n   "arches": ["sm_50", "sm_60"],\n   "of": {\n    "a": {}\n   }\n  }\n ]\n}\n'
    )
    assert layout.read(tmp_path / "deep" / "file.json") == {"builds": [{"arches": ["sm_50", "sm_60"], "of": {"a": {}}}]}
