from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.machine import driver_reading
from torchpick.machine.driver_reading import Device, DriverReading, Failure

texts = st.text(max_size=40)


def test_a_whole_answer_is_read() -> None:
    told = {
        "driver": " 580.95.05",
        "cuda": 13000,
        "devices": [
            {"name": "RTX 4090", "capability": [8, 9], "uuid": "GPU-00000001-1111", "pci": "00000000:01:00.0"},
            {"error": 15},
        ],
        "libcuda": "580.65.06",
    }
    assert driver_reading.load(json.dumps(told).encode(), "nvml") == DriverReading(
        "nvml",
        "580.95.05",
        "13.0",
        (Device("RTX 4090", (8, 9), "GPU-00000001-1111", "0000:01:00.0"), Device(error=15)),
        libcuda="580.65.06",
    )
    refused = {"failure": {"kind": "refused", "text": "NVML says: no", "code": 9}}
    assert driver_reading.load(json.dumps(refused).encode(), "nvml").failure == Failure("refused", "NVML says: no", 9)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_failure(data: bytes) -> None:
    assert driver_reading.load(data, "nvml").source == "nvml"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts,
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["driver", "cuda", "devices", "failure", "capability", "name", "libcuda"]), inner
        ),
        max_leaves=20,
    )
)
def test_any_json_is_an_answer_or_a_failure(value: object) -> None:
    found = driver_reading.load(json.dumps(value).encode(), "nvml")
    assert all(device.capability is None or 1 <= device.capability[0] <= 30 for device in found.devices)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("580.95.05", "580.95.05"),
        (" 572.60 ", "572.60"),
        ("540.4.0", "540.4.0"),
        ("N/A", None),
        ("580", None),
        ("580.95.05; rm -rf", None),
        (None, None),
    ],
)
def test_driver_versions(raw: str | None, expected: str | None) -> None:
    assert driver_reading.driver_version(raw) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(13000, "13.0"), (12080, "12.8"), (11040, "11.4"), (0, None), (-1, None), (4_000_000_000, None), (None, None)],
)
def test_cuda_versions(number: int | None, expected: str | None) -> None:
    assert driver_reading.cuda_version(number) == expected


@pytest.mark.parametrize(
    ("pair", "expected"),
    [((8, 9), (8, 9)), ((12, 1), (12, 1)), ((0, 0), None), ((9999, -1), None), ((-1, -1), None), ((True, 1), None)],
)
def test_capabilities(pair: tuple[object, object], expected: tuple[int, int] | None) -> None:
    assert driver_reading.capability(*pair) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0000:3B:00.0", "0000:3b:00.0"),
        ("01:00.0", "0000:01:00.0"),
        ("00010000:00:1e.0", "10000:00:1e.0"),
        ("[N/A]", None),
        ("", None),
    ],
)
def test_pci_addresses(raw: str, expected: str | None) -> None:
    assert driver_reading.pci(raw) == expected


@pytest.mark.parametrize("raw", ["", "  ", "[N/A]", "a\x1b[31mb", "\ufffdNVIDIA", "a\u202eb"])
def test_what_is_no_name(raw: str | None) -> None:
    assert driver_reading.name(raw) is None
