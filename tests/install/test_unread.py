"""A wheel that was read, as a version of its project."""

from __future__ import annotations

import pytest

from torchpick.index.pages import Link
from torchpick.index.wheelnames import WheelName
from torchpick.install.unread import as_one_library, package_of_reading
from torchpick.model.address import Address
from torchpick.model.arch import Arch
from torchpick.model.package import WheelRule
from torchpick.wheels.librarycode import CodeContents, Library
from torchpick.wheels.packaged import Row, SurveyWheel
from torchpick.wheels.readings import WHOLE, Reading


def test_without_code_it_depends_on_whether_all_was_read() -> None:
    assert as_one_library("swift", [], all_read=True) == []
    assert as_one_library("swift", [], all_read=False) is None


SHA = "5" * 64
LINK = Link(
    "swift-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    Address("https://own.example/swift.whl"),
    WheelName("swift", "1.0", "cp312", "cp312", "manylinux_2_28_x86_64"),
    SHA,
)
WHEEL = SurveyWheel(LINK, ("cp312",), ("linux-x86_64",))
HOPPER = Library("swift/_C.so", 9, CodeContents((Arch.parse("sm_90"),)))


def reading(*libraries: Library, unread: int = 0, whole: bool = True, needed: tuple[str, ...] = ()) -> Reading:
    depth = WHOLE if whole else "sample"
    metadata = "Name: swift\nRequires-Dist: torch>=2\n"
    return Reading(
        "swift", depth, complete=whole, size=9, bytes_read=9, requests=1,
        libraries=libraries, unread=unread, metadata=metadata, needed=needed,
    )  # fmt: skip


def row_of(rule: WheelRule | None, found: Reading) -> Row | None:
    return package_of_reading(WHEEL, rule, found, {})


def test_a_reading_is_a_version_with_what_it_links_and_its_code() -> None:
    row = row_of(WheelRule(), reading(HOPPER, Library("swift/plain.so", 5), needed=("libcudart.so.12", "libc.so.6")))

    assert row is not None
    assert (row["version"], row["sha256"], row["cuda"], row["needs"]) == ("1.0", SHA, "12", ["libcudart.so.12"])
    assert [(each["path"], each["arches"], each["main"]) for each in row["code"]] == [("swift/_C.so", "sm_90", True)]


@pytest.mark.parametrize(
    ("rule", "main", "links", "said"),
    [
        (WheelRule(), True, True, True),
        (WheelRule(main=".*_C.*"), True, True, True),
        # None of the libraries that decide was read, or not what it links.
        (WheelRule(main=".*_other.*"), True, True, False),
        (WheelRule(), False, True, False),
        (WheelRule(), True, False, False),
        # No library decides, or each is for a CUDA of its own.
        (WheelRule(main=""), True, True, True),
        (WheelRule(main=""), False, True, True),
        (WheelRule(per_cuda=True), False, False, True),
    ],
)
def test_what_was_read_in_part_is_a_version_where_it_tells_what_decides(
    rule: WheelRule, main: bool, links: bool, said: bool
) -> None:
    libraries = (HOPPER,) if main else ()
    needed = ("libcudart.so.12",) if links else ()

    assert (row_of(rule, reading(*libraries, unread=1, whole=False, needed=needed)) is not None) is said
    assert row_of(rule, reading(*libraries, needed=needed)) is not None


def test_a_library_that_was_read_in_part_has_not_told_what_it_links() -> None:
    part = HOPPER._replace(complete=False)

    assert row_of(WheelRule(), reading(part, whole=False)) is None
    assert row_of(WheelRule(), reading(part)) is not None  # the whole of the file was there
    assert row_of(WheelRule(), reading(HOPPER, whole=False)) is not None
