"""Where the readers of wheels draw their lines: the last that passes, and the first that does not."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from zipfile import BadZipFile, ZipInfo

import pytest

from tests.index.test_archive import Bytes
from tests.wheels import making
from torchpick.errors import IntegrityError, WheelError, WheelLayoutError
from torchpick.index.ranges import Archive
from torchpick.model.arch import Arch
from torchpick.wheels import fatbin, librarycode, wheel
from torchpick.wheels.librarycode import Library, Modules, texts
from torchpick.wheels.readings import SAMPLE, WHOLE, Allowance, Reading


class Announced(Bytes):
    """A source that writes down what it is told to expect."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.expected: list[tuple[list[tuple[int, int]], int]] = []

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        self.expected.append((ranges, gap))


def two() -> tuple[Announced, Archive, ZipInfo, ZipInfo]:
    source = Announced(making.wheel({"a.so": b"x" * 400, "b/\xfc.so": b"y" * 400}, stored=True))
    made = Archive(source)
    first, second = made.members()
    return source, made, first, second


def test_a_member_may_begin_where_the_one_before_it_can_end_at_the_earliest() -> None:
    """Behind its fixed header and its bytes; how long its name is there, only its own header says."""
    _, made, first, second = two()
    made.check_overlap()
    second.header_offset = first.header_offset + 30 + 400
    made.check_overlap()
    second.header_offset -= 1
    with pytest.raises(WheelLayoutError) as caught:
        made.check_overlap()
    assert caught.value.message == "contains b/\xfc.so and a.so in the same bytes: a zip bomb"
    first.header_offset, second.header_offset = 500, 0  # in the order of their places
    made.check_overlap()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"file_size": 400 * 250 + (16 << 20)}, None),
        ({"file_size": 400 * 250 + (16 << 20) + 1}, "contains a.so packed 42193 to one: a zip bomb"),
        ({"file_size": (16 << 30) + 1}, "contains a.so with an impossible size"),
        ({"file_size": 16 << 30}, "contains a.so packed 42949672 to one: a zip bomb"),
        ({"compress_size": 0, "file_size": (16 << 20) + 1}, "contains a.so packed 16777217 to one: a zip bomb"),
        ({"flag_bits": 1}, "contains a.so, which is encrypted"),
        ({"flag_bits": 2}, None),
        ({"compress_type": 12}, "contains a.so compressed by method 12"),
    ],
)
def test_which_members_can_be_read(changes: dict[str, int], message: str | None) -> None:
    _, made, member, _ = two()
    for name, value in changes.items():
        setattr(member, name, value)

    if message is None:
        assert next(made.stream(member)) == b"x" * 400
        return
    with pytest.raises(WheelLayoutError) as caught:
        next(made.stream(member))
    assert caught.value.message == message


def test_a_member_ends_within_the_file() -> None:
    source, made, member, _ = two()
    member.compress_size = source.size - member.header_offset + 1
    with pytest.raises(WheelLayoutError, match="impossible size"):
        next(made.stream(member))
    member.compress_size -= 1
    member.file_size = 300
    with pytest.raises(IntegrityError, match=r"CRC|Overlapped"):  # which is found where it is read
        next(made.stream(member))


def test_a_small_member_is_read_up_to_its_limit_and_whole() -> None:
    _, made, member, _ = two()

    assert made.read(member, 400) == b"x" * 400
    with pytest.raises(WheelLayoutError) as caught:
        made.read(member, 399)
    assert (caught.value.message, caught.value.hint) == (
        "contains a.so of 400 bytes, more than 399", "it may be malicious",
    )  # fmt: skip
    member.file_size = 401
    with pytest.raises(IntegrityError, match=r"a\.so is damaged: 1 bytes are missing"):
        made.read(member, 500)


def test_what_will_be_streamed_is_announced_once_with_its_place_and_its_end() -> None:
    source, made, first, second = two()
    ends = [(first.header_offset, 30 + 4 + 400), (second.header_offset, second.header_offset + 30 + 7 + 400)]
    made.expect([first, second])
    for member in (first, second):
        made.read(member, 400)

    assert source.expected == [(ends, 1 << 20)]
    made.expect([second], 7)
    made.read(first, 400)
    assert source.expected[1:] == [([ends[1]], 7), ([ends[0]], 1 << 20)]


class Raising(Bytes):
    """A source of which reading fails, in the ways that zipfile fails of what is damaged."""

    error: Exception | None = None

    def read(self, offset: int, length: int) -> bytes:
        if self.error is not None:
            raise self.error
        return super().read(offset, length)


DAMAGE = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


@pytest.mark.parametrize("kind", DAMAGE)
def test_whatever_fails_in_an_archive_names_it(kind: type[Exception]) -> None:
    source = Raising(making.wheel({"a.so": b"x" * 400}))
    made = Archive(source)
    source.error = kind("how it is")

    with pytest.raises(WheelLayoutError, match=r"^is not a readable zip archive: ."):
        Archive(source)
    with pytest.raises(IntegrityError, match=r"a\.so is damaged: how it is"):
        made.read(made.members()[0], 400)


@pytest.mark.parametrize(
    ("named", "holds_code"),
    [
        ({".nv_fatbin": making.module("sm_80")}, True),
        ({".nv_fatbin": making.module("compute_80")}, True),
        ({".data": making.module("sm_80")}, True),
        ({".data": making.module("compute_80")}, True),
        ({".data": b"text"}, False),
        ({".nv_fatbin": making.module("lto_80")}, False),
    ],
)
def test_a_library_holds_code_wherever_it_lies_and_of_either_kind(named: dict[str, bytes], holds_code: bool) -> None:
    assert librarycode.read_buffer(making.elf(named), "x.so").holds_code is holds_code


def test_a_bare_cubin_is_one_module() -> None:
    assert librarycode.read_buffer(making.cubin(90), "x.cubin").code.modules == (Modules((Arch("sm", 9, 0),), (), 1),)


def unread(data: bytes) -> Iterator[bytes]:
    yield data
    raise OSError(28, "No space left on device")


def test_a_library_that_cannot_be_unpacked_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(librarycode, "MOST_IN_MEMORY", 0)
    with pytest.raises(WheelError) as caught, librarycode.unpack(unread(b"x"), 2):
        pass
    assert caught.value.message == "cannot be unpacked: No space left on device"
    assert caught.value.hint == "free some space, or name another folder with TMPDIR"


def test_a_stream_without_bytes_is_an_empty_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(librarycode, "MOST_IN_MEMORY", 0)
    with librarycode.unpack([], 1) as buffer:
        assert len(buffer) == 0


ISA_OF_NO_CUDA = [(6, 2), (6, 6), (7, 9), (8, 9), (9, 10), (10, 0)]


@pytest.mark.parametrize("isa", ISA_OF_NO_CUDA)
def test_an_isa_that_no_cuda_brought_has_none(isa: tuple[int, int]) -> None:
    assert librarycode.read_buffer(making.library(making.module("compute_80", isa=isa)), "x.so").ptx_cuda is None


@pytest.mark.parametrize(("number", "arch"), [(19, None), (20, "sm_20"), (99, "sm_99"), (999, "sm_999"), (1000, None)])
def test_what_is_a_number_of_an_architecture(number: int, arch: str | None) -> None:
    data = making.container(making.entry(f"sm_{number}"))
    assert [str(entry.arch) for hit in fatbin.scan(data) for entry in hit.entries] == ([] if arch is None else [arch])


def test_more_containers_than_any_library_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin, "MOST_CONTAINERS", 2)
    assert len([*fatbin.scan(making.module("sm_80") * 2)]) == 2
    with pytest.raises(WheelLayoutError, match="more than 2 code containers"):
        list(fatbin.scan(making.module("sm_80") * 3))


def test_an_entry_of_a_container_has_a_header_of_whole_words() -> None:
    """Nothing behind one that has not is read."""
    good, odd = making.entry("sm_80"), bytearray(making.entry("sm_90"))
    odd[4:8] = (68).to_bytes(4, "little")
    [hit] = fatbin.scan(making.container(good, bytes(odd)))

    assert ([str(entry.arch) for entry in hit.entries], hit.broken) == (["sm_80"], True)


@pytest.mark.parametrize("length", [63, 64])
def test_a_cubin_has_a_whole_header(length: int) -> None:
    assert fatbin.cubin_arch(making.cubin(90)[:length]) == (None if length < 64 else Arch("sm", 9, 0))


def read(
    members: dict[str, bytes], depth: str | None = None, *, remote: bool = True, most: int | None = None
) -> Reading:
    allowance = None if most is None else Allowance(most)
    source = Bytes(making.wheel(members, stored=True), remote=remote)
    return wheel.read_wheel(Archive(source), "pkg-1.0-py3-none-any.whl", depth, allowance)


SMALL, OTHER = making.library(making.module("sm_80")), making.library(making.module("sm_90"))


def test_a_library_that_was_not_read_to_its_end_makes_the_reading_incomplete() -> None:
    broken = making.library(making.container(making.entry("sm_80"), b"\xff" * 128))
    found = read({"pkg/a.so": broken, "pkg/b.so": OTHER})

    assert (found.depth, found.complete, found.unread) == (WHOLE, False, 0)


def test_a_sample_has_the_small_libraries_whole_and_the_beginning_of_the_largest() -> None:
    large = making.library(*(making.module("sm_90") + making.noise(place, 30_000) for place in range(40)))
    larger = making.library(*(making.module("sm_100") + making.noise(place, 30_000) for place in range(60)))
    members = {"pkg/larger.so": larger, "pkg/large.so": large, "pkg/small.so": SMALL}
    found = read(members, most=600_000)

    assert [(one.path, texts(one.sass), one.complete) for one in found.libraries] == [
        ("pkg/small.so", ["sm_80"], True), ("pkg/larger.so", ["sm_100"], False),
    ]  # fmt: skip
    assert (found.depth, found.complete, found.unread) == (SAMPLE, False, 1)
    assert found.notes == ("1 of 3 libraries were not read",)
    assert 550_000 < found.bytes_read < 900_000


def library(*modules: bytes) -> Library:
    return librarycode.read_buffer(making.library(*modules), "x.so")


@pytest.mark.parametrize(("length", "table"), [(88, ()), (87, None)])
def test_the_header_of_a_dll_lies_in_the_file(length: int, table: tuple[()] | None) -> None:
    head = b"MZ".ljust(60, b"\0") + (64).to_bytes(4, "little") + b"PE\0\0"
    assert fatbin.read_sections(head.ljust(88, b"\0")[:length]) == table
