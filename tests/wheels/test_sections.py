"""The sections of a library as its own table has them, and what a table that lies is worth."""

from __future__ import annotations

import struct

import pytest

from tests.wheels import making
from torchpick.wheels import fatbin
from torchpick.wheels.fatbin import OTHER

ELF = making.elf({".text": b"x" * 8, ".rodata": b"y" * 8, ".nv_fatbin": making.module("sm_80"), ".eh_frame": b"z" * 8})
PE = making.pe({".text": b"x" * 8, ".rdata": b"y" * 8, ".nv_fatb": making.module("sm_80"), "__nv_relfatbin": b"z" * 8})


def found(data: bytes) -> dict[str, tuple[str, bytes]] | None:
    """What each section is, and the bytes in it."""
    table = fatbin.read_sections(data)
    return None if table is None else {s.name: (s.role, data[s.offset : s.offset + s.size]) for s in table}


def with_field(data: bytes, place: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, place, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("place", "layout", "value"),
    [
        (4, "B", 1), (5, "B", 2), (40, "<Q", 0), (40, "<Q", len(ELF) - 64), (58, "<H", 63), (60, "<H", 5),
        (60, "<H", 200), (62, "<H", 7),
    ],
)  # fmt: skip
def test_a_shared_object_without_a_table_that_can_be_has_none(place: int, layout: str, value: int) -> None:
    """32-bit, big-endian, no place, beyond the file, odd rows, no names, too many rows, names that are none."""
    assert found(with_field(ELF, place, layout, value)) is None


PE_TABLE = 128 + 24 + 240


@pytest.mark.parametrize(
    ("place", "layout", "value"), [(60, "<I", len(PE)), (128, "<I", 0), (134, "<H", 60_000), (148, "<H", 65_000)]
)
def test_a_dll_without_a_table_that_can_be_has_none(place: int, layout: str, value: int) -> None:
    assert found(with_field(PE, place, layout, value)) is None


@pytest.mark.parametrize(("place", "value"), [(16, 0), (16, len(PE)), (20, len(PE))])
def test_a_section_of_a_dll_that_does_not_lie_in_the_file_is_left_out(place: int, value: int) -> None:
    table = found(with_field(PE, PE_TABLE + 40 + place, "<I", value))

    assert table is not None
    assert set(table) == {".text", ".nv_fatb", "__nv_rel"}


@pytest.mark.parametrize("flags", [0x20, 0x20000000])
def test_a_section_of_a_dll_that_runs_is_no_data(flags: int) -> None:
    table = found(with_field(PE, PE_TABLE + 40 + 36, "<I", flags))

    assert table is not None
    assert table[".rdata"][0] == OTHER
