"""The sections of a library as its own table has them, and what a table that lies is worth."""

from __future__ import annotations

import struct

import pytest

from tests.wheels import making
from torchpick.wheels import fatbin
from torchpick.wheels.fatbin import DATA, EXECUTABLE, OTHER
from torchpick.wheels.librarycode import read_buffer, texts

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


def test_the_sections_of_a_shared_object() -> None:
    table = found(ELF)

    assert table is not None
    assert {name: role for name, (role, _) in table.items()} == {
        ".text": OTHER, ".rodata": DATA, ".nv_fatbin": EXECUTABLE, ".eh_frame": OTHER, ".strtab": OTHER,
        ".shstrtab": OTHER,
    }  # fmt: skip
    assert table[".rodata"][1] == b"y" * 8
    assert table[".nv_fatbin"][1] == making.module("sm_80")


def test_the_sections_of_a_dll() -> None:
    table = found(PE)

    assert table == {
        ".text": (OTHER, b"x" * 8), ".rdata": (DATA, b"y" * 8), ".nv_fatb": (EXECUTABLE, making.module("sm_80")),
        "__nv_rel": (OTHER, b"z" * 8),
    }  # fmt: skip


TABLE = int.from_bytes(ELF[40:48], "little")
RODATA = TABLE + 2 * 64


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


@pytest.mark.parametrize(
    ("place", "layout", "value"),
    [(4, "<I", 8), (32, "<Q", 0), (32, "<Q", len(ELF)), (24, "<Q", len(ELF) - 7)],
)
def test_a_section_that_does_not_lie_in_the_file_is_left_out(place: int, layout: str, value: int) -> None:
    """It has no bytes, or some that are beyond its end."""
    table = found(with_field(ELF, RODATA + place, layout, value))

    assert table is not None
    assert set(table) == {".text", ".nv_fatbin", ".eh_frame", ".strtab", ".shstrtab"}


def test_a_section_whose_last_byte_is_the_files_last_counts_and_code_that_runs_is_no_data() -> None:
    last = found(with_field(ELF, RODATA + 24, "<Q", len(ELF) - 8))
    runs = found(with_field(ELF, RODATA + 8, "<Q", 4))
    note = found(with_field(ELF, RODATA + 4, "<I", 7))

    assert last is not None
    assert last[".rodata"] == (DATA, ELF[-8:])
    for table in (runs, note):
        assert table is not None
        assert table[".rodata"][0] == OTHER


def test_a_section_without_a_name_that_can_be_read_has_none() -> None:
    table = found(with_field(ELF, RODATA, "<I", 1 << 20))

    assert table is not None
    assert table[""] == (DATA, b"y" * 8)


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


@pytest.mark.parametrize(
    ("isa", "cuda"),
    [
        ((6, 3), "10.0"), ((6, 5), "10.2"), ((7, 0), "11.0"), ((7, 8), "11.8"), ((8, 0), "12.0"), ((8, 5), "12.5"),
        ((8, 6), "12.7"), ((8, 7), "12.8"), ((8, 8), "12.9"), ((9, 0), "13.0"), ((9, 9), "13.9"), ((5, 0), None),
    ],
)  # fmt: skip
def test_the_cuda_that_brought_an_isa_of_ptx(isa: tuple[int, int], cuda: str | None) -> None:
    assert read_buffer(making.library(making.module("compute_80", isa=isa)), "x.so").ptx_cuda == cuda


def test_modules_stand_by_their_number_and_architectures_by_theirs() -> None:
    one = read_buffer(
        making.library(
            making.module("sm_90"), making.module("sm_90a", "sm_100f", "sm_90", "compute_120"), making.module("sm_90")
        ),
        "x.so",
    )

    assert texts(one.sass) == ["sm_90", "sm_90a", "sm_100f"]
    assert [(each.count, texts(each.sass), texts(each.ptx)) for each in one.code.modules] == [
        (2, ["sm_90"], []),
        (1, ["sm_90", "sm_90a", "sm_100f"], ["compute_120"]),
    ]
    assert (one.code.total, one.generations, one.holds_code) == (3, None, True)
    assert read_buffer(making.library(making.module("sm_90", "sm_90a")), "x.so").generations == 1
