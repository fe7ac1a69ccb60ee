"""The page as text: what is put into it cannot break out of it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli.show import webpage

START = {"system": "linux-x86_64", "python": "Python 3.12", "driver": "", "gpu": "", "name": ""}
PARTS = {
    "page.html": '<title>{{scope}}</title><script id="data">{{data}}</script>{{static}}',
    "page.css": "",
    "page.js": "",
}


@given(st.text())
def test_data_stays_inside_its_element_whatever_it_holds(text: str) -> None:
    inside = webpage.embedded({"text": text})

    assert not {"<", ">", "&"} & set(inside)
    assert json.loads(inside) == {"text": text}


def test_a_hostile_requirement_or_name_is_no_markup() -> None:
    hostile = "</script><script>alert(1)</script>{{static}}"
    facts = webpage.PageFacts({**START, "name": hostile}, "", hostile, ("2.15.0", "1.7.0"))

    page = webpage.html(PARTS, {"texts": [hostile]}, facts)

    assert page.count("<script") == 1
    assert page.count("</script") == 1
