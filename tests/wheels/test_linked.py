"""What a library asks the loader for, and the quick looks that doctor takes at a library where it lies."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doctor.homes import linking
from tests.wheels import making
from torchpick.errors import WheelError
from torchpick.wheels import fatbin, librarycode
from torchpick.wheels.fatbin import NO_LINKS


@pytest.mark.parametrize(
    "data", [b"", b"MZ", b"\x7fELF", making.elf({".text": b"x"}), making.elf({".dynamic": b"\1" * 40})]
)
def test_what_has_no_dynamic_section_asks_for_nothing(data: bytes) -> None:
    assert fatbin.read_links(data) == NO_LINKS


def test_what_a_library_links_and_where_it_has_it_looked_for() -> None:
    data = linking(["liba.so.1", "libb.so"], rpath="$ORIGIN:/r", runpath=":/x")
    assert fatbin.read_links(data) == (("liba.so.1", "libb.so"), ("$ORIGIN", "/r"), ("/x",))
    second = struct.pack("<QQ", 1, len("\0liba.so.1\0"))
    assert data.count(second) == 1
    assert fatbin.read_links(data.replace(second, bytes(16))) == (("liba.so.1",), (), ()), "a tag of 0 is the last"


@given(st.integers(0, 2000), st.integers(0, 255))
def test_a_damaged_library_is_read_without_harm(place: int, value: int) -> None:
    data = bytearray(linking(["libcudart.so.12"], rpath="$ORIGIN"))
    data[place % len(data)] = value

    fatbin.read_links(bytes(data))


def test_what_is_not_there_is_none_and_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.so").write_bytes(b"")
    (tmp_path / "loop.so").symlink_to("loop.so")

    for name in ("gone.so", "empty.so", "empty.so/x", "."):
        assert librarycode.look_into(str(tmp_path / name), fatbin.read_links) is None
    with pytest.raises(WheelError, match="cannot read"):
        librarycode.look_into(str(tmp_path / "loop.so"), fatbin.read_links)
