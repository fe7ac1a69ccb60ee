"""A stream and a buffer move alike, whatever the chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torchpick.wheels.cursor import BufferCursor, StreamCursor

LETTERS = st.binary(max_size=200).map(lambda data: bytes(byte % 4 for byte in data))
MOVES = st.lists(st.tuples(st.sampled_from(["peek", "skip", "find"]), st.integers(0, 30)), max_size=12)


@given(
    data=LETTERS, size=st.integers(1, 9), moves=MOVES, patterns=st.lists(LETTERS.filter(len), min_size=1, max_size=3)
)
def test_both_cursors_see_the_same(data: bytes, size: int, moves: list[tuple[str, int]], patterns: list[bytes]) -> None:
    patterns = list(dict.fromkeys(pattern[:5] for pattern in patterns))
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    one, other = BufferCursor(data), StreamCursor(chunks, len(data))
    for move, count in moves:
        if move == "peek":
            assert one.peek(count) == other.peek(count)
        elif move == "skip":
            one.skip(count)
            other.skip(count)
        else:
            found = one.find(*patterns), other.find(*patterns)
            # Two patterns at the same place are both right answers.
            assert (found[0] is None) == (found[1] is None)
        assert one.position == other.position


def test_a_pattern_across_chunks_comes_before_a_shorter_one_inside_it() -> None:
    cursor = StreamCursor([b"xab", b"cd"], 5)

    assert cursor.find(b"b", b"abcd") == b"abcd"
    assert cursor.position == 1


def test_a_stream_forgets_what_is_passed() -> None:
    cursor = StreamCursor((bytes(1 << 16) for _ in range(64)), 64 << 16)
    cursor.skip(63 << 16)

    assert len(cursor._buffer) <= 2 << 16
