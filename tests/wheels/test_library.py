"""One library: which code counts, and what a hostile file gets."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wheels import making
from torchpick.errors import WheelError
from torchpick.wheels import librarycode, wheelfiles
from torchpick.wheels.librarycode import Library, texts


def read(data: bytes) -> Library:
    return librarycode.read_buffer(data, "lib.so")


def test_a_container_that_ends_in_nonsense_makes_it_incomplete() -> None:
    one = read(making.library(making.container(making.entry("sm_80"), b"\xff" * 128)))

    assert not one.complete
    assert "1 code containers end in invalid bytes" in one.notes


def test_a_dll_is_read_like_a_shared_object() -> None:
    data = making.pe({".text": bytes(700), ".nv_fatb": making.module("sm_75"), "__nv_rel": making.module("compute_75")})
    one = read(data)

    assert (texts(one.sass), one.ptx) == (["sm_75"], ()), "what was linked already is loaded by nobody"


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"\x7fELF" + bytes(200), b"MZ" + bytes(300), b"#!/bin/sh\n", b"\0" * 70]
)
def test_a_file_that_is_no_library_holds_nothing(data: bytes) -> None:
    assert not read(data).holds_code


def test_bare_files_of_gpu_code_are_read() -> None:
    assert texts(read(making.cubin(90, specific=True)).sass) == ["sm_90a"]
    assert texts(read(making.module("sm_80", "compute_80")).sass) == ["sm_80"]


@pytest.mark.parametrize("size", [0, 64, 5_000_000])
def test_what_comes_as_a_stream_is_the_same_in_memory_and_in_a_file(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = making.noise(1, size)
    for most in (0, 1 << 30):
        monkeypatch.setattr(wheelfiles, "MOST_IN_MEMORY", most)
        with wheelfiles.unpack([data[:100], data[100:]], max(size, 1)) as buffer:
            assert buffer[:] == data


def test_sections_that_overlap_are_read_once() -> None:
    data = bytearray(making.elf({".nv_fatbin": making.module("sm_80"), ".nv_fatb": b"x"}))
    table = int.from_bytes(data[40:48], "little")
    data[table + 2 * 64 + 24 : table + 2 * 64 + 40] = data[table + 64 + 24 : table + 64 + 40]
    one = librarycode.read_buffer(bytes(data), "lib.so")

    assert one.code.total == 1


def test_endless_kinds_of_modules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(librarycode, "MOST_SETS", 3)
    data = making.library(*(making.module(f"sm_{number}") for number in (50, 60, 70, 80, 90)))

    with pytest.raises(WheelError, match="different sets"):
        librarycode.read_buffer(data, "lib.so")


@given(data=st.data())
def test_no_damage_makes_it_raise_anything_else(data: st.DataObject) -> None:
    whole = bytearray(making.library(making.module("sm_80", "compute_80"), relocatable=[making.module("sm_90")]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 8))
        whole[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with suppress(WheelError):
        librarycode.read_buffer(cut, "lib.so")
