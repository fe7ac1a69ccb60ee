"""The compiled list of architectures, found among everything else that a library says."""

from __future__ import annotations

import pytest

from torchpick.environment import distributions
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


@pytest.mark.parametrize(("text", "arches"), [
    ("sm_75 sm_80 compute_80", "sm_75 sm_80 compute_80"), ("compute_70 sm_90a sm_120f", "compute_70 sm_90a sm_120f"),
    ("gfx90a gfx942 gfx90a:sramecc+:xnack-", "gfx90a gfx942"), ("gfx1100;gfx90a", "gfx1100 gfx90a"),
    (" ".join(f"sm_{number}" for number in range(20, 60)), " ".join(f"sm_{number}" for number in range(20, 60))),
])  # fmt: skip
def test_a_list_is_found_wherever_it_lies_and_the_first_of_two_counts(text: str, arches: str) -> None:
    for before in (0, 50, 95, 99, 100, 350):
        assert found(b"x" * before + text.encode() + b"\0and gfx11 gfx12\0 sm_50 sm_60\0") == arches.split(), before


@pytest.mark.parametrize(("text", "cuda", "hip"), [
    ("cuda: Optional[str] = '13.2'\nhip: Optional[str] = None", "13.2", None),
    ("cuda = '10.2.89'\nhip = None", "10.2", None), ('cuda = None\nhip = "6.2.41133-dd7f95766"', None, "6.2"),
    ("cuda: str | None = None\nhip: str | None = '7.0'", None, "7.0"), ("cudart = '9.0'\n# hip = '5.0'", None, None),
])  # fmt: skip
def test_a_version_file_says_which_toolkit(text: str, cuda: str | None, hip: str | None) -> None:
    assert distributions.parse_version_file(f"__version__ = '2.9.0+x'\n{text}\n") == ("2.9.0+x", cuda, hip, ())
