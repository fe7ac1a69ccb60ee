"""Which wheel of a version is read, and what is known of it as a line of evidence."""

from __future__ import annotations

import pytest

from torchpick.index import pages
from torchpick.wheels import packaged
from torchpick.wheels.readings import WHOLE, Reading

HOST = "https://files.example"


def links(*files: str, more: str = "") -> tuple[pages.ProjectFile, ...]:
    page = "".join(f'<a href="{HOST}/{file}#sha256={"ab" * 32}"{more}>x</a>' for file in files)
    return pages.parse(page.encode(), f"{HOST}/simple/")


LINUX = "manylinux_2_28_x86_64"
FILES = (
    f"pkg-1.0-cp313-cp313t-{LINUX}.whl", f"pkg-1.0-cp313-cp313-{LINUX}.whl", f"pkg-1.0-cp312-cp312-{LINUX}.whl",
    f"pkg-1.0-cp39-abi3-{LINUX}.whl", "pkg-1.0-py3-none-any.whl", "pkg-1.0-cp312-cp312-win_amd64.whl",
    f"pkg-2.0-cp313-cp313-{LINUX}.whl", "pkg-1.0-cp312-cp312-musllinux_1_2_x86_64.whl",
)  # fmt: skip


def test_of_a_versions_wheels_that_of_the_usual_python_is_read() -> None:
    found = packaged.wheel_of_version(links(*FILES), "1.0.0")

    assert found is not None
    assert found.link.file == f"pkg-1.0-cp312-cp312-{LINUX}.whl"
    assert found.pythons == ("any", "cp312", "cp313", "cp313t", "cp39+")
    assert found.platforms == ("any", "linux-x86_64", "windows-x86_64")


@pytest.mark.parametrize(
    ("files", "read"),
    [
        (FILES[:2], FILES[1]), (FILES[:1], FILES[0]), ((FILES[0], FILES[4]), FILES[0]), (FILES[4:6], FILES[4]),
        ((FILES[1], FILES[3]), FILES[1]), (FILES[5:6], None), (FILES[6:], None),
    ],
)  # fmt: skip
def test_a_wheel_of_the_platform_goes_before_one_of_any_and_an_everyday_one_before_a_free_threaded(
    files: tuple[str, ...], read: str | None
) -> None:
    found = packaged.wheel_of_version(links(*files), "1.0")

    assert (None if found is None else found.link.file) == read


def test_every_version_for_the_platform_the_newest_first_and_none_that_was_withdrawn() -> None:
    yanked = links(f"pkg-3.0-cp312-cp312-{LINUX}.whl", more=' data-yanked="broken"')
    windows = links("pkg-4.0-cp312-cp312-win_amd64.whl", "pkg-1.0.post1-cp312-cp312-win_amd64.whl")

    def files(platform: str) -> list[str]:
        return [each.link.file for each in packaged.wheels_of_versions((*links(*FILES), *yanked, *windows), platform)]

    assert files("linux-x86_64") == [FILES[6], FILES[2]]
    assert files("windows-x86_64") == [*(link.file for link in windows), FILES[5]]


def test_what_is_known_of_a_wheel_beside_its_code() -> None:
    found = packaged.wheel_of_version(links(*FILES), "1.0")
    assert found is not None
    metadata = "Name: pkg\nRequires-Python: >=3.9\nRequires-Dist: torch>=2\nRequires-Dist: numpy"
    needed = ("libc.so.6", "libc10.so", "libcudart.so.13", "libnccl.so.2", "libtorch_cuda.so", "libstdc++.so.6")
    reading = Reading("x", WHOLE, True, 1, 1, 1, needed=needed, unread=3, metadata=metadata)

    assert packaged.evidence_line(found, reading) == {
        "file": found.link.file,
        "sha256": "ab" * 32,
        "project": "pkg",
        "version": "1.0",
        "requires_python": ">=3.9",
        "requires": ["torch>=2", "numpy"],
        "pythons": ["any", "cp312", "cp313", "cp313t", "cp39+"],
        "platforms": ["any", "linux-x86_64", "windows-x86_64"],
        "glibc": "2.28",
        "needed": ["libc10.so", "libcudart.so.13", "libnccl.so.2", "libtorch_cuda.so"],
        "libraries_unread": 3,
        "yanked": False,
    }
    bare = packaged.evidence_line(found, reading._replace(metadata=None))
    assert (bare["requires"], bare["requires_python"]) == ([], None)
