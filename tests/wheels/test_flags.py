"""The compiled list of architectures, found among everything else that a library says."""

from __future__ import annotations

import pytest

from torchpick.wheels import readings


def found(data: bytes, size: int = 100) -> list[str] | None:
    held = readings.compiled_flags(data[start : start + size] for start in range(0, len(data), size))
    return None if held is None else [str(arch) for arch in held]


def test_a_single_architecture_counts_where_it_is_the_only_one() -> None:
    assert found(b"..\0sm_87\0..") == ["sm_87"]
    assert found(b"..\0sm_87\0..sm_90\0..\0sm_90\0") is None


@pytest.mark.parametrize(
    "text", [b"", b"requires sm_80 or newer\0", b"\0sm_8\0", b"\0sm_80 sm_90 and more\0", b"\0sm_80"]
)
def test_a_mere_mention_is_no_list(text: bytes) -> None:
    assert found(text) is None
