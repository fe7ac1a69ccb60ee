"""Zip archives as they are, as they may be, and as somebody hostile makes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wheels import making
from torchpick.errors import IntegrityError, WheelError, WheelLayoutError
from torchpick.index import ranges
from torchpick.index.ranges import Archive, FileSource

ENTRY_MAGIC = b"PK\x01\x02"


class Bytes:
    """A source that lies in memory and counts."""

    name = "bytes"

    def __init__(self, data: bytes, *, remote: bool = True) -> None:
        self._data, self._remote = data, remote
        self.size = len(data)
        self.bytes_read = self.requests = 0

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        self.requests += self._remote
        for start in range(offset, offset + length, 1000):
            chunk = self._data[start : min(start + 1000, offset + length)]
            self.bytes_read += len(chunk)
            yield chunk

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        pass

    def close(self) -> None:
        pass


def opened(data: bytes) -> Archive:
    return Archive(Bytes(data))


MEMBERS = {"a.txt": b"hello", "b/c.so": bytes(range(256)) * 300, "empty": b"", "ü.txt": b"\xff" * 10}


def test_a_directory_too_large_to_be_a_wheel_s_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_DIRECTORY", 100)

    with pytest.raises(WheelLayoutError, match="a directory of"):
        opened(making.wheel(MEMBERS))


def test_a_bomb_is_refused_before_it_unpacks() -> None:
    one = opened(making.wheel({"bomb.so": bytes(64 << 20)}))

    with pytest.raises(WheelLayoutError, match="to one: a zip bomb"):
        next(one.stream(one.members()[0]))


def test_members_that_share_their_bytes_are_refused() -> None:
    data = bytearray(making.wheel({"a.so": b"x" * 400, "b.so": b"y" * 400}, stored=True))
    second = data.rfind(ENTRY_MAGIC)
    data[second + 42 : second + 46] = bytes(4)

    with pytest.raises(WheelLayoutError, match="zip bomb"):
        opened(bytes(data)).check_overlap()


def lying(field: int, value: int, width: int = 4) -> bytes:
    """A wheel of one member whose directory entry holds another value."""
    data = bytearray(making.wheel({"a.so": making.noise(1, 5000)}))
    entry = data.rfind(ENTRY_MAGIC)
    data[entry + field : entry + field + width] = value.to_bytes(width, "little")
    return bytes(data)


@pytest.mark.parametrize(("data", "words"), [
    (lying(24, 4000), "damaged"),
    (lying(24, 6000), "damaged"),
    (lying(16, 7), "damaged"),
    (lying(20, 2_000_000), "an impossible size"),
    (lying(42, 20), "damaged"),
    (lying(10, 14, 2), "method 14"),
    (lying(8, 1, 2), "encrypted"),
    (lying(24, 0xFFFFFFFE), "zip bomb"),
    (lying(20, 0xFFFFFFFE << 32, 8), "packed 4294967294 to one: a zip bomb"),
])  # fmt: skip
def test_a_lie_about_a_member_is_found_out(data: bytes, words: str) -> None:
    one = opened(data)
    with pytest.raises(WheelError, match=words):
        list(one.stream(one.members()[0]))


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06", b"not a zip at all" * 9000, making.wheel(MEMBERS)[:-30]])
def test_what_is_no_archive_is_said_so(data: bytes) -> None:
    with pytest.raises(WheelLayoutError):
        opened(data)


def test_a_file_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.whl"
    file.write_bytes(making.wheel({"a.so": making.noise(1, 300_000)}, stored=True))
    source = FileSource(file)
    one = Archive(source)
    member = one.members()[0]
    file.write_bytes(b"PK")
    with pytest.raises(IntegrityError, match="early"):
        list(one.stream(member))
    source.close()


@given(data=st.data())
def test_no_damage_makes_it_raise_anything_else(data: st.DataObject) -> None:
    whole = bytearray(making.wheel(MEMBERS, stored=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(whole) - 4))
        whole[place : place + 4] = data.draw(st.binary(min_size=4, max_size=4))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        one = opened(cut)
        one.find("a.txt")
        for member in one.members():
            for _ in one.stream(member):
                pass
    except WheelError:
        pass
