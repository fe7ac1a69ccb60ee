from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from torchpick.machine import probe
from torchpick.machine.probe import Device, DriverReading, failed_reading

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
    assert probe.parse_reading(json.dumps(told).encode(), "nvml") == DriverReading(
        "nvml",
        "580.95.05",
        "13.0",
        (Device("RTX 4090", (8, 9), "GPU-00000001-1111", "0000:01:00.0"), Device(error=15)),
        libcuda="580.65.06",
    )
    many = json.dumps({"devices": [{"capability": [8, 0]}] * 100}).encode()
    assert probe.parse_reading(many, "cuda").devices == (Device(None, (8, 0)),) * 64
    refused = {"failure": {"kind": "refused", "text": "NVML says: no", "code": 9}}
    assert probe.parse_reading(json.dumps(refused).encode(), "nvml") == failed_reading(
        "nvml", "refused", "NVML says: no", 9
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["driver", "cuda", "devices", "failure", "capability", "name", "libcuda"]), inner
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_an_answer_or_a_failure(value: object) -> None:
    found = probe.parse_reading(json.dumps(value).encode(), "nvml")
    assert all(device.capability is None or 1 <= device.capability[0] <= 30 for device in found.devices)
