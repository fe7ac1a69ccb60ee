"""What to compile for these GPUs, within what a toolkit can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.arch import Arch, Fit, fit
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.generations import Toolkits, targets

FILE = Path(__file__).parents[2] / "compat" / "drivers.json"
TOOLKITS = Toolkits.from_json(Fields(json.loads(FILE.read_text("utf-8"))))


def chosen(cuda: str, *gpus: str) -> tuple[list[str], list[str]]:
    near = TOOLKITS.nearest(cuda)
    assert near is not None
    found, left = targets(tuple(Arch.parse(gpu) for gpu in gpus), TOOLKITS.lists[near])
    return [str(arch) for arch in found], [str(gpu) for gpu in left]


@pytest.mark.parametrize(
    ("cuda", "gpus", "expected"),
    [
        ("12.6", ("sm_61", "sm_86"), ["sm_61", "sm_86"]),
        ("12.8", ("sm_121", "sm_120"), ["sm_120"]),  # sm_121 came with 12.9
        ("12.8", ("sm_103",), ["sm_100"]),
        ("12.8", ("sm_110",), ["sm_101"]),  # Thor's name before 13.0
        ("13.0", ("sm_110",), ["sm_110"]),
        ("13.0", ("sm_87",), ["sm_87"]),
        ("11.8", ("sm_37",), ["sm_37"]),
    ],
)
def test_each_gpu_gets_the_best_that_the_toolkit_compiles(
    cuda: str, gpus: tuple[str, ...], expected: list[str]
) -> None:
    assert chosen(cuda, *gpus) == (expected, [])


def test_what_a_toolkit_does_not_reach_is_left() -> None:
    assert chosen("13.0", "sm_61", "sm_90") == (["sm_90"], ["sm_61"])
    assert chosen("12.6", "sm_120") == ([], ["sm_120"])


def test_the_nearest_list_is_an_older_one_of_the_same_major() -> None:
    assert TOOLKITS.nearest("12.7") == "12.6"
    assert TOOLKITS.nearest("13.1.2") == "13.0"
    assert TOOLKITS.nearest("12.0") is None
    assert TOOLKITS.nearest("14.0") is None


def test_which_toolkits_are_able() -> None:
    assert TOOLKITS.able(Arch.parse("sm_61"))[-1] == "12.9"
    assert TOOLKITS.able(Arch.parse("sm_120"))[0] == "12.8"
    assert TOOLKITS.able(Arch.parse("sm_37")) == ("11.8",)


GPUS = st.sampled_from([Arch.parse(text) for text in ("sm_37", "sm_61", "sm_75", "sm_86", "sm_89", "sm_100", "sm_121")])


@given(st.lists(GPUS, min_size=1, max_size=5), st.sampled_from(list(TOOLKITS.lists)))
def test_every_gpu_is_served_or_left(gpus: list[Arch], cuda: str) -> None:
    found, left = targets(tuple(gpus), TOOLKITS.lists[cuda])

    for gpu in gpus:
        assert any(fit(arch, gpu) is not Fit.NONE for arch in found) != (gpu in left)
    assert [arch.capability for arch in found] == sorted({arch.capability for arch in found})


def test_a_list_that_is_none_is_refused() -> None:
    with pytest.raises(ShapeError, match="arches"):
        Toolkits.from_json(Fields({"toolkit_arches": [{"cuda": "12.6", "arches": ["sm80"]}]}))
