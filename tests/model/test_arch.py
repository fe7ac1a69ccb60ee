"""The compatibility rule against PyTorch's own table."""

from __future__ import annotations

import pytest

from torchpick.model.arch import Arch, Fit, best, fit


def sm(digits: int) -> Arch:
    return Arch("sm", digits // 10, digits % 10)


@pytest.mark.parametrize(
    ("built", "device", "unified"),
    [
        (70, 72, True),
        (80, 87, True),
        (86, 87, True),
        (60, 62, False),
        (50, 53, False),
        (87, 89, False),
        (72, 75, False),
    ],
)
def test_the_unification_opens_tegra_for_volta_and_ampere_code_only(built: int, device: int, unified: bool) -> None:
    assert bool(fit(sm(built), sm(device), unified=True)) is unified


def test_best_prefers_machine_code_and_names_the_newest_of_it() -> None:
    held = tuple(map(Arch.parse, ("compute_50", "sm_80", "sm_50", "sm_86")))

    assert best(held, Arch.parse("sm_89")) == (Fit.BINARY, Arch.parse("sm_86"))
    assert best(held, Arch.parse("sm_61")) == (Fit.JIT, Arch.parse("compute_50"))
    assert best((), Arch.parse("sm_89")) == (Fit.NONE, None)
    family = (Arch.parse("sm_103f"),)
    assert [best(family, sm(device))[0] for device in (100, 103, 107, 110)] == [0, Fit.EXACT, Fit.BINARY, 0]
