"""The compatibility rule against PyTorch's own table."""

from __future__ import annotations

import pytest

from torchpick.model.arch import Arch, Fit, best, crosses, fit


def sm(digits: int) -> Arch:
    return Arch("sm", digits // 10, digits % 10)


# DEVICE_REQUIREMENT and its later form: on which devices machine code runs, of what it was built for.
DEVICES = (35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
RUNS_ON = {
    35: (35, 37), 50: (50, 52), 60: (60, 61), 70: (70, 75), 80: (80, 86, 88, 89), 86: (86, 88, 89), 88: (88, 89),
    100: (100, 103, 107), 103: (103, 107), 120: (120, 121),
}  # fmt: skip
CROSSING = {70: 72, 80: 87, 86: 87}


@pytest.mark.parametrize("built", DEVICES)
def test_code_runs_on_what_pytorch_says_and_on_nothing_else(built: int) -> None:
    def runs(text: str, other: Fit = Fit.BINARY, *, unified: bool = False) -> set[int]:
        fits = {device: fit(Arch.parse(text), sm(device), unified=unified) for device in DEVICES}
        assert all(fits[device] in (Fit.NONE, other) for device in DEVICES if device != built)
        assert fits[built] is (Fit.EXACT if other is Fit.BINARY else other)
        return {device for device in DEVICES if fits[device]}

    own = set(RUNS_ON.get(built, (built,)))
    assert runs(f"sm_{built}") == own
    assert runs(f"sm_{built}", unified=True) == own | {CROSSING.get(built, built)}
    assert runs(f"sm_{built}a") == {built}
    assert runs(f"sm_{built}f") == {device for device in DEVICES if built <= device < built - built % 10 + 10}
    assert runs(f"compute_{built}", Fit.JIT) == {device for device in DEVICES if device >= built}
    assert crosses(sm(built), sm(87)) is crosses(sm(built), sm(72)) is (built not in (53, 62, 72, 87))
    assert not crosses(Arch.parse(f"compute_{built}"), sm(87))
    assert not crosses(sm(80), sm(built)) or built in (72, 87)


def test_best_prefers_machine_code_and_names_the_newest_of_it() -> None:
    held = tuple(map(Arch.parse, ("compute_50", "sm_80", "sm_50", "sm_86")))

    assert best(held, Arch.parse("sm_89")) == (Fit.BINARY, Arch.parse("sm_86"))
    assert best(held, Arch.parse("sm_61")) == (Fit.JIT, Arch.parse("compute_50"))
    assert best((), Arch.parse("sm_89")) == (Fit.NONE, None)
    family = (Arch.parse("sm_103f"),)
    assert [best(family, sm(device))[0] for device in (100, 103, 107, 110)] == [0, Fit.EXACT, Fit.BINARY, 0]
