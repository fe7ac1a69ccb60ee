from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.machine.nvidia import shown

A, B, C = "GPU-aaaa1111-0000", "GPU-aaaa2222-0000", "GPU-bbbb3333-0000"
GPUS = [A, B, C]


def show(value: str, *order: int) -> set[int] | None:
    found = shown(value, GPUS, order or None)
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ("0", {0}),
        ("2,0", {2, 0}),
        (" 1 , 2", {1, 2}),
        ("1gpu,2x", {1, 2}),
        ("+1,-0", {1}),
        ("", set()),
        ("-1", set()),
        ("0,-1,2", {0}),
        ("void", set()),
        ("NoDevFiles", set()),
        ("0,x,1", {0}),
        ("1,1", set()),
        ("0,1,0", set()),
        ("0x1", {0}),
        ("0,GPU-aaaa1111", {0}),
    ],
)
def test_indices_as_cuda_reads_them(value: str, places: set[int]) -> None:
    assert show(value, 0, 1, 2) == places


@pytest.mark.parametrize(
    ("value", "places"),
    [
        (A, {0}),
        ("GPU-bbbb", {2}),
        ("GPU-aaaa", set()),  # two GPUs begin so
        (f"{C},GPU-aaaa,{A}", {2}),
        (f"{A},1", {0}),  # an index does not mix with names
        (f"{A},{A}", set()),
        (f"{A},GPU-aaaa1111", set()),
        ("GPU-ffff", set()),
        ("MIG-22222222-0000", None),  # whose GPU it is of is not asked
    ],
)
def test_names(value: str, places: set[int] | None) -> None:
    assert show(value) == places


def test_an_index_needs_cudas_order() -> None:
    assert show("0") is None
    assert show("0", 2, 0, 1) == {2}
    assert show("0,1,2") == {0, 1, 2}
    assert show("1,7,0", 2, 0, 1) == {0}


@given(st.text(alphabet="0123456789,+- GPUMIGabf/x\u00b2\0", max_size=60), st.permutations([0, 1, 2]))
def test_any_text_shows_some_of_the_gpus(value: str, order: list[int]) -> None:
    found = shown(value, GPUS, order)
    assert found <= {0, 1, 2} if found is not None else "MIG-" in value
