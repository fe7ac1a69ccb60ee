"""Which extra is taken of several that fit."""

from __future__ import annotations

import pytest

import torchpick
from torchpick.install.extras import Candidate, best, eligible


def candidate(name: str, torch: str, *gpus: str) -> Candidate:
    try:
        pick = torchpick.pick(gpus=gpus, driver="580.95.05", python="3.12", platform="linux-x86_64", torch=torch)
    except torchpick.NoBuildError as error:
        pick = error.pick
    return Candidate(name, pick)


@pytest.mark.parametrize(
    ("names", "gpu", "allow_cpu", "expected"),
    [
        (("new", "cpu", "old"), True, False, ("new", "old")),
        (("new", "cpu", "old"), True, True, ("new", "old", "cpu")),
        (("new", "cpu", "old"), False, False, ("cpu", "new", "old")),
        (("new", "old"), False, False, ("new", "old")),
        (("cpu",), True, False, ()),
    ],
)
def test_cpu_is_for_machines_without_a_gpu(
    *, names: tuple[str, ...], gpu: bool, allow_cpu: bool, expected: tuple[str, ...]
) -> None:
    assert eligible(names, gpu=gpu, allow_cpu=allow_cpu) == expected


def test_the_extra_that_brings_the_newest_torch_that_runs_wins() -> None:
    new, old = candidate("new", ">=2.15", "sm_61"), candidate("old", "<2.8", "sm_61")
    wide = candidate("wide", ">=2.5", "sm_61")

    assert best([new, old]) == old
    assert best([new, old, wide]) == wide
    assert best([candidate("new", ">=2.15", "sm_90"), candidate("old", "<2.8", "sm_90")]).name == "new"  # type: ignore[union-attr]


def test_the_first_of_equals_wins_and_none_is_none() -> None:
    first, second = candidate("a", "", "sm_90"), candidate("b", "", "sm_90")

    assert best([second, first]) == second
    assert best([candidate("new", ">=2.15", "sm_61")]) is None
    assert best([]) is None


def test_without_a_gpu_cpu_wins_where_it_runs() -> None:
    cpu, wide = candidate("cpu", "<2.8"), candidate("wide", "")

    assert best([cpu, wide]) == cpu
