from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.machine import probe
from torchpick.machine.driver_reading import Device

ROW = "580.95.05, GPU-00000001-1111-2222-3333-000000000001, 00000000:01:00.0, 8.6, NVIDIA A10"


def test_a_row() -> None:
    found = probe.parse_smi(0, ROW + "\n")
    assert (found.driver, found.failure) == ("580.95.05", None)
    uuid = "GPU-00000001-1111-2222-3333-000000000001"
    assert found.devices == (Device("NVIDIA A10", (8, 6), uuid, "0000:01:00.0"),)


def test_a_row_a_gpu_and_a_name_with_commas() -> None:
    found = probe.parse_smi(0, f"{ROW}\n{ROW.replace('A10', 'A10, rev, 2')}\n")
    assert [device.name for device in found.devices] == ["NVIDIA A10", "NVIDIA A10, rev, 2"]


@pytest.mark.parametrize("cell", ["[N/A]", "[Not Supported]", "[Unknown Error]", "", "0.0", "9999.9"])
def test_a_capability_that_is_none(cell: str) -> None:
    assert probe.parse_smi(0, ROW.replace("8.6", cell)).devices[0].capability is None


def test_rows_count_whatever_the_status() -> None:
    lost = "Unable to determine the device handle for GPU0000:17:00.0: Unknown Error"
    found = probe.parse_smi(255, f"{ROW}\n{lost}\n")
    assert [device.error for device in found.devices] == [None, 15]
    assert found.devices[1].pci == "0000:17:00.0"
    assert found.failure is None


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure, that", 9),
        (18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161", 18),
        (255, "Failed to initialize NVML: Driver/library version mismatch", 18),
        (6, "No devices were found", 6),
        (1, "", 1),
    ],
)
def test_sentences_are_no_rows(status: int, said: str, code: int) -> None:
    found = probe.parse_smi(status, said)
    assert found.devices == ()
    assert found.failure is not None
    assert found.failure.code == code


cells = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)


@given(st.integers(-20, 300), st.lists(st.one_of(cells, st.lists(cells, max_size=7).map(", ".join))).map("\n".join))
def test_any_text_is_read(status: int, out: str) -> None:
    found = probe.parse_smi(status, out)
    assert all(device.name is None or device.name.isprintable() for device in found.devices)
    assert (found.failure is None) == any(device.error is None for device in found.devices)


@pytest.mark.parametrize("said", ["", "y\ny\n", "\0" * 100])
def test_an_end_by_a_signal_says_nothing_of_the_gpu(said: str) -> None:
    found = probe.parse_smi(-11, said)

    assert found.failure is not None
    assert found.failure.kind == "crashed"
    assert "signal 11" in found.failure.text


def test_a_gpu_that_was_named_before_the_end_counts() -> None:
    assert probe.parse_smi(-11, ROW + "\n").failure is None
