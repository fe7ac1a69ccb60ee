from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.machine import driver_reading
from torchpick.machine.driver_reading import Device, DriverReading, Failure

texts = st.text(max_size=40)
devices = st.builds(
    Device,
    name=st.none() | st.text(alphabet="NVIDIA RTX 4090", min_size=1).map(str.strip).filter(bool),
    capability=st.none() | st.tuples(st.integers(1, 30), st.integers(0, 9)),
    uuid=st.none() | st.just("GPU-00000001-1111-2222-3333-000000000001"),
    pci=st.none() | st.just("0000:01:00.0"),
    error=st.none() | st.integers(1, 999),
)
readings = st.builds(
    DriverReading,
    source=st.just("nvml"),
    driver=st.none() | st.just("580.95.05"),
    cuda=st.none() | st.just("13.0"),
    devices=st.lists(devices, max_size=3).map(tuple),
    failure=st.none() | st.builds(Failure, st.just("refused"), texts, st.none() | st.integers(0, 999)),
    libcuda=st.none() | st.just("580.65.06"),
)


@given(readings)
def test_loads_is_the_inverse_of_dumps(told: DriverReading) -> None:
    assert driver_reading.load(driver_reading.dumps(told).encode(), "nvml") == told


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
        (b"535.161.07\0rest", "535.161.07"),
        (" 572.60 ", "572.60"),
        ("540.4.0", "540.4.0"),
        ("N/A", None),
        ("580", None),
        ("580.95.05; rm -rf", None),
        (b"\xf8\xff", None),
        (None, None),
        (3.5, None),
    ],
)
def test_driver_versions(raw: object, expected: str | None) -> None:
    assert driver_reading.driver_version(raw) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(13000, "13.0"), (12080, "12.8"), (11040, "11.4"), (0, None), (-1, None), (4_000_000_000, None), ("x", None)],
)
def test_cuda_versions(number: object, expected: str | None) -> None:
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


@pytest.mark.parametrize("raw", ["", "  ", "[N/A]", "a\x1b[31mb", b"\xf8NVIDIA", "a\u202eb"])
def test_what_is_no_name(raw: object) -> None:
    assert driver_reading.name(raw) is None


@pytest.mark.parametrize(
    ("cuda", "expected"), [("13.0", "13.0"), ("13", None), ("1" * 60, None), ("\n13.0", None), ("0.0", None)]
)
def test_the_cuda_of_a_child_is_believed_only_where_it_is_one(cuda: str, expected: str | None) -> None:
    told = json.loads(driver_reading.dumps(DriverReading("nvml"))) | {"cuda": cuda}

    assert driver_reading.load(json.dumps(told).encode(), "nvml").cuda == expected
