"""The page as text: what is put into it cannot break out of it, and its rows have addresses."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli.show import webpage
from torchpick.decide.packagefit import PackageGpuRow
from torchpick.model.arch import Arch
from torchpick.model.verdict import JIT, NOT, PARTLY, RUNS


@given(st.text())
def test_data_stays_inside_its_element_whatever_it_holds(text: str) -> None:
    inside = webpage.embedded({"text": text})

    assert not {"<", ">", "&"} & set(inside)
    assert json.loads(inside) == {"text": text}


def test_rows_and_packages_have_addresses_and_cells_their_words() -> None:
    rows = [
        PackageGpuRow("gsplat", "1.5", "12.8", (NOT, RUNS), True),
        PackageGpuRow("gsplat", "1.4", None, (JIT, PARTLY), False),
        PackageGpuRow("<vllm>", "1", "13", (NOT, NOT), True),
    ]
    page = webpage.packages(rows, tuple(map(Arch.parse, ("sm_61", "sm_90"))))

    assert re.findall('id="([^"]*)"', page) == [
        "packages", "package-gsplat", "package-gsplat-1.5", "package-gsplat-1.4",
        "package-&lt;vllm&gt;", "package-&lt;vllm&gt;-1",
    ]  # fmt: skip
    assert re.findall('<th scope="col">(sm[^<]*)</th>', page) == ["sm_61", "sm_90"]
    cells = re.findall('<td class="([a-z]+)">([^<]*)</td>', page)
    assert cells[:4] == [("none", "–"), ("runs", "runs"), ("jit", "JIT"), ("partly", "partly")]
    assert page.count("(declared)") == 1
    assert "<vllm>" not in page
