"""One library: which code counts, and what a hostile file gets."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wheels import making
from torchpick.errors import WheelError
from torchpick.model.fields import plain
from torchpick.wheels import librarycode, wheelfiles
from torchpick.wheels.librarycode import Library


def read(data: bytes) -> Library:
    return librarycode.read_buffer(data, "lib.so")


def test_a_container_that_ends_in_nonsense_makes_it_incomplete() -> None:
    one = read(making.library(making.container(making.entry("sm_80"), b"\xff" * 128) * 2))

    assert not one.complete
    assert "2 code containers end in invalid bytes" in one.notes


def test_a_dll_is_read_like_a_shared_object() -> None:
    data = making.pe(
        {".text": bytes(700), ".bss": b"", ".nv_fatb": making.module("sm_75"), "__nv_rel": making.module("compute_75")}
    )
    one = read(data)

    assert (plain(one.sass), one.ptx) == (["sm_75"], ()), "what was linked already is loaded by nobody"


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"\x7fELF" + bytes(200), b"MZ" + bytes(300), b"#!/bin/sh\n", b"\0" * 70]
)
def test_a_file_that_is_no_library_holds_nothing(data: bytes) -> None:
    assert not read(data).holds_code


def test_bare_files_of_gpu_code_are_read() -> None:
    assert plain(read(making.cubin(90, specific=True)).sass) == ["sm_90a"]
    assert plain(read(making.module("sm_80", "compute_80")).sass) == ["sm_80"]


@pytest.mark.parametrize("size", [0, 64, 5_000_000])
def test_what_comes_as_a_stream_is_the_same_in_memory_and_in_a_file(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = making.noise(1, size)
    for most in (0, 1 << 30):
        monkeypatch.setattr(wheelfiles, "MOST_IN_MEMORY", most)
        with wheelfiles.unpack([data[:100], data[100:]], max(size, 1)) as buffer:
            assert buffer[:] == data


def test_sections_that_overlap_are_read_once() -> None:
    data = bytearray(making.elf({".nv_fatbin": making.module("sm_80") * 2, ".nv_fatb": b"x", ".text": b"y"}))
    first, second, third = (int.from_bytes(data[40:48], "little") + 64 * row for row in (1, 2, 3))
    offset, size = struct.unpack_from("<QQ", data, first + 24)
    data[third : third + 4] = data[first : first + 4]  # a third of that name
    for row, start, end in ((second, 0, 8), (third, size // 2, size)):
        struct.pack_into("<QQ", data, row + 24, offset + start, end - start)
    one = librarycode.read_buffer(bytes(data), "lib.so")

    assert one.code.total == 2


def test_what_is_no_library_of_a_cuda_that_there_is_holds_nothing() -> None:
    good = making.library(making.module("sm_80"))
    row = int.from_bytes(good[40:48], "little") + 3 * 64  # of the code
    for what, place, value in (
        ("32-bit", 4, b"\1"), ("big-endian", 5, b"\2"), ("without a table", 40, bytes(8)),
        ("rows of another size", 58, b"\x38\0"), ("more rows than bytes", 60, b"\xff\0"),
        ("without names", 62, b"\xff\0"), ("no bytes of the file", row + 4, b"\x08"),
        ("bytes beyond the file", row + 32, struct.pack("<Q", len(good))),
    ):  # fmt: skip
        assert not read(good[:place] + value + good[place + len(value) :]).holds_code, what
    dll = making.pe({".nv_fatb": making.module("sm_80")})
    assert not read(dll[: 392 + 16] + struct.pack("<I", len(dll)) + dll[392 + 20 :]).holds_code


@pytest.mark.parametrize(
    ("major", "minors", "cudas"),
    [
        (6, range(3, 6), "10.0 10.1 10.2"), (7, range(9), "11.0 11.1 11.2 11.3 11.4 11.5 11.6 11.7 11.8"),
        (8, range(9), "12.0 12.1 12.2 12.3 12.4 12.5 12.7 12.8 12.9"), (9, range(3), "13.0 13.1 13.2"),
    ],
)  # fmt: skip
def test_the_cuda_of_each_isa_of_ptx(major: int, minors: range, cudas: str) -> None:
    """As the release notes of the PTX ISA have it; of several the newest, and machine code needs none."""
    found = [read(making.library(making.module("compute_80", isa=(major, minor)))).ptx_cuda for minor in minors]
    assert found == cudas.split()
    mixed = (making.module("compute_60", isa=(major, minors[0])), making.module("compute_60", isa=(6, 3)))
    for modules in (mixed, mixed[::-1]):
        assert read(making.library(*modules, making.module("sm_120", isa=(9, 3)))).ptx_cuda == found[0]
    assert read(making.library(making.module("sm_90", "lto_90", isa=(9, 0)))).ptx_cuda is None


def test_modules_without_a_kernel_are_counted_apart_and_link_time_code_is_none() -> None:
    one = read(making.library(*[making.module("sm_52", size=872)] * 3, making.module("sm_80", "lto_90")))

    assert (one.code.total, one.code.empty, plain(one.sass), one.ptx) == (1, 3, ["sm_52", "sm_80"], ())


def test_amd_s_code_is_named_in_a_shared_object_and_in_a_dll() -> None:
    for made in (making.elf, making.pe):
        assert read(made({".text": b"x", ".hip_fatbin": b"x"})).notes == (
            "contains AMD GPU code (.hip_fatbin), which is not read",
        )
        assert read(made({".text": b"x"})).notes == ()


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
