"""A companion belongs to the torch that its metadata pins, else to the one its maintainers name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.table import checking, companions, layout

PINS: dict[str, dict[str, str | None]] = {
    "torchvision": {
        "0.8.0": "1.7.0",
        "0.8.1": "1.7.0",
        "0.26.0": "2.11.0",
        "0.29.0": "2.14.0",
        "0.29.1": None,
        "0.29.2": None,
    },
    "torchaudio": {"0.7.0": "1.7.0", "2.11.0": None},
}


def pairs(*releases: str) -> dict[str, tuple[object, object, object]]:
    found = companions.table(releases, PINS)["pairs"]
    assert isinstance(found, list)
    return {pair["torch"]: (pair["torchvision"], pair["torchaudio"], pair["basis"]) for pair in found}


def test_the_newest_of_several_that_pin_one_torch() -> None:
    assert pairs("1.7.0") == {"1.7.0": ("0.8.1", "0.7.0", "metadata")}


def test_what_the_maintainers_state_is_declared() -> None:
    assert pairs("2.11.0", "2.14.1", "2.15.0") == {
        "2.15.0": ("0.29.2", None, "declared"),
        "2.14.1": ("0.29.1", None, "declared"),
        "2.11.0": ("0.26.0", "2.11.0", "declared"),
    }


def test_one_companion_may_have_ended() -> None:
    assert pairs("2.14.0") == {"2.14.0": ("0.29.0", None, "metadata")}


def test_what_nobody_states_is_inferred() -> None:
    assert pairs("2.16.0") == {"2.16.0": ("0.29.2", None, "inferred")}


def test_the_newest_torch_comes_first() -> None:
    assert list(pairs("1.7.0", "2.14.0", "2.9.0")) == ["2.14.0", "2.9.0", "1.7.0"]


def test_the_table_is_of_its_format(tmp_path: Path) -> None:
    layout.write(tmp_path / "companions.json", companions.table(["1.7.0", "2.14.1"], PINS))

    checking.check_file(tmp_path / "companions.json", "companions.json")


@pytest.mark.parametrize(
    ("requirement", "torch"),
    [
        ("torch (==1.7.1)", "1.7.1"),
        ("torch ==2.4.0", "2.4.0"),
        ("torch==2.8.0", "2.8.0"),
        ("torch (>=2.14.0)", None),
        ("torchdata==0.1", None),
        ("torch==2.8.0 ; extra == 'x'", "2.8.0"),
    ],
)
def test_a_pin_is_read_out_of_a_requirement(requirement: str, torch: str | None) -> None:
    assert companions.torch_of(["numpy", requirement]) == torch


@pytest.mark.network
@pytest.mark.process
def test_the_index_says_what_the_shipped_table_says() -> None:
    """One version only: the whole reading takes a minute."""
    try:
        answered = companions._versions("torchvision", "3.12")
    except SystemExit as error:
        pytest.skip(f"the package index does not answer: {error}")
    if not answered:
        pytest.skip("the package index has no torchvision")

    assert companions._pinned("torchvision", "0.24.1", "3.12") == "2.9.1"
    assert companions._pinned("torchvision", "0.29.1", "3.12") is None
