from __future__ import annotations

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick import machines
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.model import envelope
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble

PYTHON = Python("3.12")
PASCAL = Machine(
    platform=Platform("linux", "x86_64", "2.36", "glibc"),
    python=Python("3.11", executable="/usr/bin/python3", source=".venv"),
    driver=Driver("580.95.05", "13.0", "nvml", "nvml"),
    gpus=(Gpu(0, "nvidia", "NVIDIA GeForce GTX 1080 Ti", Arch("sm", 6, 1), "GPU-1", "0000:01:00.0", source="nvml"),),
    notes=(Note("GPU_LOST", "one"),),
)
BARE = Machine(Platform("linux", "aarch64", None, "glibc"), Python("3.13"), name="b")
TROUBLE = Machine(Platform("linux", "x86_64"), PYTHON, trouble=Trouble("DRIVER_MISMATCH", "updated", "reboot"))


def line(machine: Machine) -> str:
    return envelope.dumps(envelope.new("detect", machine=machine.to_json()))


def parse(text: str) -> list[Machine]:
    return machines.parse(text.encode(), "fleet", PYTHON)


def test_what_detect_prints_is_read_back() -> None:
    assert parse(f"{line(PASCAL)}\n{line(BARE)}\n") == [PASCAL, BARE]


def test_bare_machines_lists_and_several_in_an_envelope() -> None:
    assert parse(json.dumps(PASCAL.to_json())) == [PASCAL]
    assert parse(json.dumps([PASCAL.to_json(), BARE.to_json()], indent=2)) == [PASCAL, BARE]
    both = envelope.new("pick", machine=None, machines=[PASCAL.to_json(), BARE.to_json()])
    assert parse(envelope.dumps(both)) == [PASCAL, BARE]
    assert parse(f"\n\n{json.dumps(both, indent=2)}\n\n{line(BARE)}") == [PASCAL, BARE, BARE]


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-8"])
def test_what_windows_shells_write(coding: str) -> None:
    assert machines.parse(f"{line(PASCAL)}\r\n{line(BARE)}\r\n".encode(coding), "fleet", PYTHON) == [PASCAL, BARE]


def test_from_a_file_and_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "fleet.jsonl"
    file.write_text(line(PASCAL))
    assert machines.read(str(file), PYTHON) == [PASCAL]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(line(BARE).encode())))
    assert machines.read("-", PYTHON) == [BARE]


@pytest.mark.parametrize("where", ["gone", ".", "a\0b"])
def test_a_file_that_cannot_be_read(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--machine"):
        machines.read(where, PYTHON)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no machine"),
        ("\n \n", "holds no machine"),
        ("[]", "holds no machine"),
        ("hello", "fleet, line 1: not JSON"),
        (f"{line(PASCAL)}\n{line(PASCAL)[:-9]}", "fleet, line 2: not JSON"),
        (f"{line(PASCAL)}\n\n\n{{}}", "fleet, line 4: platform: is missing"),
        ("3", "line 1: must be an object"),
        ("[[1]]", "line 1: must be an object"),
        ("[" * 100_000, "line 1: not JSON"),
        ("1" * 10_000, "line 1: not JSON"),
        (line(PASCAL).replace('"sm_61"', '"sm_6x"'), r"machine\.gpus\[0\]\.arch"),
        (line(PASCAL).replace('"schema": 1', '"schema": 2'), "newer torchpick"),
        ('{"schema": 1, "machine": null}', "holds no machine"),
        ('{"schema": 1, "status": "error", "error": {"code": "X", "text": "it broke", "hint": "h"}}', "it broke"),
        ('{"schema": 1, "machines": 3}', "machines: must be a list"),
        ('{"apiVersion": "v1", "kind": "Pod"}', "kind: must be a list of nodes"),
    ],
)
def test_what_cannot_be_read_names_the_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse(text)
    assert caught.value.hint


def test_not_text() -> None:
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        machines.parse(line(PASCAL).encode() + b"\n\xff\xfe\x00", "fleet", PYTHON)


def test_more_than_a_fleet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machines, "_MOST_MACHINES", 2)
    with pytest.raises(UsageError, match="more than 2 machines"):
        parse("\n".join([line(BARE)] * 3))
    monkeypatch.setattr(machines, "_MOST_BYTES", 1 << 20)
    file = tmp_path / "big"
    file.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        machines.read(str(file), PYTHON)


def test_a_machine_without_an_answer_is_exit_4_and_names_the_line() -> None:
    error = DetectionError("updated", hint="reboot", code="DRIVER_MISMATCH")
    for text in (line(TROUBLE), envelope.dumps(envelope.of_error(error, "detect"))):
        with pytest.raises(DetectionError, match="fleet, line 2: updated") as caught:
            parse(f"{line(PASCAL)}\n{text}")
        assert (caught.value.exit_status, caught.value.code, caught.value.hint) == (4, "DRIVER_MISMATCH", "reboot")


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_machines_or_an_error(data: bytes) -> None:
    with pytest.raises(TorchpickError):
        machines.parse(data, "fleet", PYTHON)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["schema", "machine", "machines", "platform", "python", "gpus", "kind", "apiVersion", "items"]),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)


@given(json_values)
def test_any_json_is_machines_or_an_error(value: object) -> None:
    try:
        found = parse(json.dumps(value))
    except TorchpickError:
        return
    assert found
