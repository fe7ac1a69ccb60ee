"""What is asked of a server for ranges of a file, and what is made of each answer, with a client that has them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import httpx
import pytest

from torchpick.errors import BrokenOffError, IntegrityError, NetworkError, RangesUnsupportedError, TorchpickError
from torchpick.index import ranges
from torchpick.index.client import Client, Limits, Reply
from torchpick.index.ranges import TAIL, RemoteSource

URL = "https://me:secret@host.example/file.whl"
NAME = "https://me:****@host.example/file.whl"
FIRST = f"bytes=-{TAIL}"
SIZE = 3_000_000
# Each byte says something of its place.
DATA = bytes(range(251)) * (SIZE // 251 + 1)
DATA = DATA[:SIZE]

Given = tuple[int, dict[str, str], list[bytes]]


class Server:
    """In the place of a client: `answer` says status, headers and chunks for the headers of a request."""

    def __init__(self, answer: Callable[[dict[str, str]], Given], pauses: tuple[float, ...] = (1.0, 2.0)) -> None:
        self.limits, self.requests, self.slept = Limits(pauses=pauses), 0, list[float]()
        self.asked: list[str] = []
        self.conditions: list[str | None] = []
        self.closed = self.taken = 0
        self._answer = answer
        self.sleep = self.slept.append

    def open(self, url: str, headers: dict[str, str]) -> Reply:
        assert url == URL + "#sha256=00"
        self.requests += 1
        self.asked.append(headers["range"])
        self.conditions.append(headers.get("if-range"))
        status, found, chunks = self._answer(headers)
        told = [(name.encode(), value.encode()) for name, value in found.items()]
        return Reply(url, status, httpx.Headers(told), self._take(chunks), self._close)

    def _take(self, chunks: list[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.taken += 1
            yield chunk

    def _close(self) -> None:
        self.closed += 1

    def source(self, report: Callable[[str | int], None] = lambda _: None) -> RemoteSource:
        return RemoteSource(URL + "#sha256=00", cast("Client", self), report)


def span(data: bytes, wanted: str) -> tuple[int, int]:
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    return (int(first), int(last)) if first else (max(len(data) - int(last), 0), len(data) - 1)


def kind(data: bytes = DATA, chunk: int = 10_000, **more: str) -> Callable[[dict[str, str]], Given]:
    """A server that answers every range."""

    def answer(headers: dict[str, str]) -> Given:
        first, last = span(data, headers["range"])
        body = data[first : last + 1]
        told = {"content-range": f"bytes {first}-{last}/{len(data)}"}
        told |= {name.replace("_", "-"): value for name, value in more.items()}
        return 206, told, [body[start : start + chunk] for start in range(0, len(body), chunk)]

    return answer


def in_turn(*answers: Given) -> Callable[[dict[str, str]], Given]:
    left = [*answers]
    return lambda _: left.pop(0)


def part(said: str, *chunks: bytes) -> Given:
    return 206, {"content-range": said}, [*chunks]


WHOLE = part("bytes 0-9/10", b"0123456789")
BYTE = part("bytes 0-0/10", b"0")


@pytest.mark.parametrize(
    ("answers", "size", "kept"),
    [
        ([WHOLE], 10, 10),
        ([part("bytes 4-9/10", b"456789")], 10, 6),
        ([part("bytes 9-9/10", b"9")], 10, 1),
        ([part("bytes 0-4/10", b"01234")], 10, 0),  # not the end, so that it is read again where it is wanted
        # One that knows no range from the end, and one that says nothing of what it sends.
        *[([(status, {}, []), BYTE], 10, 0) for status in (416, 501)],
        *[([part(said), BYTE], 10, 0) for said in (
            "", "bytes 5-4/10", "bytes 0-10/10", "bytes 0-9/*", "bytes 0-9/10 x", "bytes 0-9/1234567890123456789",
            "bytes \u0660-\u0669/10", "items 0-9/10",
        )],
        ([(200, {"content-length": "3"}, [b"012"])], 3, 3),
        ([(416, {}, []), (200, {"content-length": "0"}, [])], 0, 0),
    ],
)  # fmt: skip
def test_the_size_and_the_end_of_a_file(answers: list[Given], size: int, kept: int) -> None:
    server = Server(in_turn(*answers))
    source = server.source()

    assert (source.size, source.requests, server.closed) == (size, len(answers), len(answers))
    assert server.asked == [FIRST, "bytes=0-0"][: len(answers)]
    assert source.read(size - kept, kept) == b"0123456789"[size - kept : size]
    assert source.requests == len(answers)


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ([(404, {}, [])], NetworkError, f"{NAME}: the server answered 404"),
        ([(417, {}, [])], NetworkError, f"{NAME}: the server answered 417"),
        ([(502, {}, [])], NetworkError, f"{NAME}: the server answered 502"),
        ([(207, {"content-range": "bytes 0-9/10"}, [])], NetworkError, f"{NAME}: the server answered 207"),
        ([(416, {}, []), (416, {}, [])], NetworkError, f"{NAME}: the server answered 416"),
        ([part(""), part("bytes x")], NetworkError, f"{NAME}: the server answered 206"),
        *[([(200, headers, [])], RangesUnsupportedError, f"the server of {NAME} does not support ranges")
          for headers in ({}, {"content-length": "many"}, {"content-length": str((64 << 20) + 1)})],
        ([(206, {"content-range": "bytes 0-9/10", "content-encoding": "gzip"}, [])], RangesUnsupportedError,
         f"the server of {NAME} compresses what it sends"),
    ],
)  # fmt: skip
def test_a_first_answer_that_is_none(answers: list[Given], error: type[TorchpickError], message: str) -> None:
    server = Server(in_turn(*answers))
    with pytest.raises(error) as caught:
        server.source()

    assert (type(caught.value), caught.value.message) == (error, message)
    assert server.closed == len(answers) == len(server.asked)


@pytest.mark.parametrize(("size", "is_said"), [(TAIL, False), (TAIL + 1, True)])
def test_a_file_that_comes_whole_is_said_to_where_it_is_larger_than_its_end(size: int, is_said: bool) -> None:
    news: list[str | int] = []
    server = Server(in_turn((200, {"content-length": str(size)}, [DATA[:size]])))
    source = server.source(news.append)

    text = f"{NAME} is downloaded whole, {size} bytes: its server does not support ranges"
    assert news == [*([text] if is_said else []), size]
    assert source.read(0, size) == DATA[:size]
    assert server.asked == [FIRST]


@pytest.mark.parametrize(("whole", "requests"), [(100, 1), (99, 2)])
def test_as_much_is_kept_as_would_be_downloaded(whole: int, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a server that sends more than the end that it was asked for."""
    monkeypatch.setattr(ranges, "WHOLE", whole)
    data = DATA[:100]
    server = Server(lambda _: part("bytes 0-99/100", data))
    source = server.source()

    assert source.read(0, 100) == data
    assert source.requests == requests


@pytest.mark.parametrize(("size", "requests"), [(100, 1), (101, 0)])
def test_a_server_without_ranges_sends_no_more_than_that(
    size: int, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "WHOLE", 100)
    server = Server(in_turn((200, {"content-length": str(size)}, [DATA[:size]])))
    if requests:
        assert server.source().read(0, size) == DATA[:size]
    else:
        with pytest.raises(RangesUnsupportedError):
            server.source()
    assert server.closed == 1


def test_what_is_near_is_taken_from_the_open_answer_and_what_is_far_is_asked_for() -> None:
    far = 2 << 20
    server = Server(kind())
    source = server.source()

    def asked(offset: int, length: int = 10) -> list[str]:
        del server.asked[:]
        assert source.read(offset, length) == DATA[offset : offset + length]
        return server.asked

    source.expect([(0, SIZE - TAIL)], 0)
    assert asked(0) == [f"bytes=0-{SIZE - TAIL + 1023}"]
    assert asked(10) == asked(20) == []
    assert asked(30 + far - 1) == []
    assert asked(0) == [f"bytes=0-{SIZE - TAIL + 1023}"]  # what lies behind
    assert asked(10 + far) == [f"bytes={10 + far}-{SIZE - TAIL + 1023}"]
    source.expect([], 0)
    assert asked(100) == ["bytes=100-1133"]
    assert asked(1124) == []
    assert asked(1134) == ["bytes=1134-2167"]  # where the open answer ends
    assert server.slept == []


def test_bytes_that_the_file_does_not_have() -> None:
    source = Server(in_turn(WHOLE)).source()

    assert (source.read(0, 10), source.read(10, 0)) == (b"0123456789", b"")
    for offset, length in ((-1, 5), (5, 6), (11, 0)):
        with pytest.raises(IntegrityError) as caught:
            source.read(offset, length)
        assert caught.value.message == f"{NAME} has no bytes at {offset}"


def test_an_answer_that_is_longer_than_it_says_is_read_no_further() -> None:
    server = Server(in_turn(part("bytes 8-9/10", b"89"), part("bytes 0-9/10", b"01", b"23456789", b"", b"x", b"y")))
    source = server.source()
    assert source.read(0, 2) == b"01"
    with pytest.raises(IntegrityError) as caught:
        source.close()
    assert (caught.value.message, caught.value.hint) == (
        f"{NAME}: the server sent more than was asked for", "check the connection and try again",
    )  # fmt: skip
    assert (server.taken, server.closed) == (5, 2)


def test_a_first_answer_is_no_longer_than_it_says() -> None:
    Server(in_turn(part("bytes 0-9/10", b"0123456789", b""))).source()
    for extra in ((b"0123456789", b"x"), (b"0123456789x",)):
        with pytest.raises(IntegrityError, match="sent more than was asked for"):
            Server(in_turn(part("bytes 0-9/10", *extra))).source()


def breaks_off(after: int) -> Callable[[dict[str, str]], Given]:
    """A server whose answers end after so many bytes, but for the first."""
    whole = kind()

    def answer(headers: dict[str, str]) -> Given:
        status, told, chunks = whole(headers)
        return status, told, chunks if headers["range"] == FIRST else [b"".join(chunks)[:after]]

    return answer


def test_patience_begins_anew_with_each_byte_and_ends_where_none_comes() -> None:
    server = Server(breaks_off(400))
    source = server.source()

    assert source.read(0, 1000) == DATA[:1000]
    assert server.asked[1:] == [f"bytes={offset}-2023" for offset in (0, 400, 800)]
    assert server.slept == [1.0, 1.0]
    dead = Server(breaks_off(0))
    source = dead.source()
    with pytest.raises(BrokenOffError) as caught:
        source.read(0, 10)
    assert caught.value.message == f"{NAME}: the connection was lost"
    assert caught.value.hint == "check the connection and try again"
    assert (dead.slept, dead.closed) == ([1.0, 2.0], 4)


def test_an_end_that_broke_off_is_read_again_where_it_is_wanted() -> None:
    server = Server(in_turn(part("bytes 0-9/10", b"01234"), WHOLE))
    source = server.source()

    assert source.read(0, 10) == b"0123456789"
    assert (server.asked, server.slept) == ([FIRST, "bytes=0-9"], [])


CHANGED = f"{NAME} changed while it was read"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (part("bytes 0-1033/200000", DATA[:1034]), None, ""),
        *[((status, {}, []), IntegrityError, CHANGED) for status in (200, 206, 412, 416)],
        (part("bytes 0-1033/200001"), IntegrityError, CHANGED),
        *[(part(f"bytes {sent}/200000"), RangesUnsupportedError,
           f"{NAME}: asked for bytes 0-1033, the server sent {sent}") for sent in ("1-1033", "0-1034", "0-1032")],
        *[((200, {"content-range": f"bytes {sent}/200000"}, []), IntegrityError, CHANGED)
          for sent in ("0-9", "0-1033")],
        *[((status, {}, []), NetworkError, f"{NAME}: the server answered {status}") for status in (201, 207, 413, 417)],
    ],
)  # fmt: skip
def test_what_a_later_answer_is_refused_for(answer: Given, error: type[TorchpickError] | None, message: str) -> None:
    first = kind(DATA[:200_000])
    server = Server(lambda headers: first(headers) if headers["range"] == FIRST else answer)
    source = server.source()
    if error is None:
        assert source.read(0, 10) == DATA[:10]
        return
    with pytest.raises(error) as caught:
        source.read(0, 10)
    assert (type(caught.value), caught.value.message) == (error, message)
    assert (server.closed, server.slept) == (2, [])


@pytest.mark.parametrize(
    ("first", "later", "condition", "is_same"),
    [
        ({"etag": '"a"'}, {"etag": '"a"'}, '"a"', True),
        ({"etag": '"a"'}, {"etag": '"b"'}, '"a"', False),
        ({"etag": '"a"'}, {}, '"a"', True),
        ({"etag": 'W/"a"'}, {"etag": 'W/"a"'}, None, True),
        ({"etag": 'W/"a"'}, {"etag": 'W/"b"'}, None, False),
        ({"last-modified": "Mon"}, {"last-modified": "Mon"}, None, True),
        ({"last-modified": "Mon"}, {"last-modified": "Tue"}, None, False),
        ({"etag": '"a"', "last-modified": "Mon"}, {"etag": '"a"', "last-modified": "Tue"}, '"a"', True),
        ({}, {"last-modified": "Tue"}, None, False),
        ({}, {}, None, True),
    ],
)
def test_a_file_is_the_same_by_its_tag_or_else_its_date(
    first: dict[str, str], later: dict[str, str], condition: str | None, is_same: bool
) -> None:
    whole = kind(DATA[:200_000])

    def answer(headers: dict[str, str]) -> Given:
        status, told, chunks = whole(headers)
        return status, {**told, **(first if headers["range"] == FIRST else later)}, chunks

    server = Server(answer)
    source = server.source()
    if is_same:
        assert source.read(0, 10) == DATA[:10]
    else:
        with pytest.raises(IntegrityError, match="changed while it was read"):
            source.read(0, 10)
        assert server.closed == 2
    assert server.conditions == [None, condition]
