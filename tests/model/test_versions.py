"""Names are read without the patterns that define them; here the two are held against each other."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.versions import leading, normal

_TEXTS = st.text(alphabet=st.sampled_from("aZ09-_. [<=\u0130\u0661\n")) | st.text(max_size=20)


@given(_TEXTS)
def test_a_name_is_normal_as_pep_503_defines_it(text: str) -> None:
    assert normal(text) == re.sub(r"[-_.]+", "-", text).lower()


@given(_TEXTS)
def test_a_requirement_begins_with_the_longest_name(text: str) -> None:
    match = re.match(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", text)
    assert leading(text) == (match[0] if match else "")
