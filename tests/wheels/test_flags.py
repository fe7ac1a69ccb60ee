"""The compiled list of architectures, found among everything else that a library says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wheels import making
from torchpick.wheels import readings


def found(data: bytes, size: int = 100) -> list[str] | None:
    held = readings.compiled_flags(data[start : start + size] for start in range(0, len(data), size))
    return None if held is None else [str(arch) for arch in held]


@pytest.mark.parametrize("text", [
    "sm_37 sm_50 sm_60 sm_70 sm_75", "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
    "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 compute_37", "sm_90a sm_100f compute_120f",
])  # fmt: skip
def test_the_list_is_found_whatever_the_chunks(text: str) -> None:
    for size in (1, 7, 64, 4096):
        assert found(making.torch_python(text), size) == text.split()


def test_a_dll_keeps_it_likewise() -> None:
    assert found(making.torch_python("sm_61 sm_75", form="pe")) == ["sm_61", "sm_75"]


def test_amd_lists_are_read_without_their_feature_marks() -> None:
    assert found(b"\0gfx900 gfx90a:sramecc+:xnack- gfx1100\0") == ["gfx900", "gfx90a", "gfx1100"]
    assert found(b"\0gfx900;gfx906\0") == ["gfx900", "gfx906"]


def test_a_single_architecture_counts_where_it_is_the_only_one() -> None:
    assert found(b"..\0sm_87\0..") == ["sm_87"]
    assert found(b"..\0sm_87\0..sm_90\0..\0sm_90\0") is None


@pytest.mark.parametrize(
    "text", [b"", b"requires sm_80 or newer\0", b"\0sm_8\0", b"\0sm_80 sm_90 and more\0", b"\0sm_80"]
)
def test_a_mere_mention_is_no_list(text: bytes) -> None:
    assert found(text) is None


def test_nothing_is_read_behind_the_list() -> None:
    taken = []

    def chunks() -> object:
        for place in range(10):
            taken.append(place)
            yield b"\0sm_80 sm_90\0" if place == 2 else bytes(64)

    readings.compiled_flags(chunks())  # type: ignore[arg-type]
    assert taken == [0, 1, 2]


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_any_bytes_will_do(chunks: list[bytes]) -> None:
    readings.compiled_flags(chunks)
