"""The compatibility rule against PyTorch's own table."""

from __future__ import annotations

import pytest

from torchpick.model.arch import Arch, Fit, best, fit

# torch/cuda/__init__.py of 2.15.0, DEVICE_REQUIREMENT: what code built for runs on which device.
RUNS_ON = {
    50: {50, 52},
    52: {52},
    53: {53},
    60: {60, 61},
    61: {61},
    62: {62},
    70: {70, 75},
    72: {72},
    75: {75},
    80: {80, 86, 88, 89},
    86: {86, 88, 89},
    87: {87},
    89: {89},
    90: {90},
    100: {100, 103, 107},
    103: {103, 107},
    101: {101, 110},
    110: {101, 110},
    120: {120, 121},
    121: {121},
}
DEVICES = (37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)


def sm(digits: int, suffix: str = "") -> Arch:
    return Arch("sm", digits // 10, digits % 10, suffix)


@pytest.mark.parametrize("built", RUNS_ON)
def test_machine_code_runs_where_torch_says(built: int) -> None:
    runs = {device for device in DEVICES if fit(sm(built), sm(device))}

    assert runs == RUNS_ON[built]


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


@pytest.mark.parametrize(
    ("code", "gpu", "expected"),
    [
        ("sm_90a", "sm_90", Fit.EXACT),
        ("sm_120a", "sm_121", Fit.NONE),
        ("sm_120f", "sm_121", Fit.BINARY),
        ("sm_100f", "sm_103", Fit.BINARY),
        ("sm_103f", "sm_100", Fit.NONE),
        ("sm_100f", "sm_110", Fit.NONE),
        ("compute_37", "sm_120", Fit.JIT),
        ("compute_120", "sm_103", Fit.NONE),
        ("compute_90a", "sm_100", Fit.NONE),
        ("compute_120f", "sm_121", Fit.JIT),
        ("gfx1100", "gfx1100", Fit.EXACT),
        ("gfx1100", "gfx1101", Fit.NONE),
        ("gfx1100", "sm_110", Fit.NONE),
    ],
)
def test_suffixes_ptx_and_amd(code: str, gpu: str, expected: Fit) -> None:
    assert fit(Arch.parse(code), Arch.parse(gpu)) is expected


def test_best_prefers_machine_code_and_names_the_newest_of_it() -> None:
    held = tuple(map(Arch.parse, ("compute_50", "sm_80", "sm_50", "sm_86")))

    assert best(held, Arch.parse("sm_89")) == (Fit.BINARY, Arch.parse("sm_86"))
    assert best(held, Arch.parse("sm_61")) == (Fit.JIT, Arch.parse("compute_50"))
    assert best((), Arch.parse("sm_89")) == (Fit.NONE, None)


@pytest.mark.parametrize(
    "text", ["", "sm_", "sm_1", "sm_1234", "sm_6x", "SM_61", "sm_61b", "gfx", "gfxg", "sm_６１", "compute-61"]
)
def test_what_is_no_arch_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an architecture"):
        Arch.parse(text)
