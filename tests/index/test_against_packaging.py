"""Our readers of names, tags and pages against packaging, which pip uses."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion

from torchpick.errors import WheelLayoutError
from torchpick.index import pages, wheelnames
from torchpick.model.machine import Platform

WORDS = st.text("aAzZ09._-+!", min_size=1, max_size=8)
FILES = st.lists(
    st.sampled_from(["torch", "1.0", "2.7.0+cu126", "1", "1build", "cp312", "py3", "none", "any", "cp312t", "", "a__b"])
    | WORDS,
    min_size=3,
    max_size=7,
).map(lambda parts: "-".join(parts) + ".whl")


@given(FILES)
@example("0-0_A-torch-0-0.whl")
@example("0-0A_-torch-0-0.whl")
@example("a__b-1.0-py3-none-any.whl")
@example("torch-1.0-build-py3-none-any.whl")
@example("torch-2.0_cu118-cp312-none-any.whl")
def test_a_file_name_is_a_wheels_where_packaging_says_so(file: str) -> None:
    try:
        project, version, _, expected = parse_wheel_filename(file)
    except (InvalidWheelFilename, InvalidVersion):
        found = wheelnames.parse(file)
        # `_` for the `+` of a local version is an old way to write it, which the wheel host has used.
        is_old = "_" in file.split("-")[1]
        assert found is None or is_old or wheelnames.rank(found, "cp312", Platform("linux", "x86_64")) is None
        return
    found = wheelnames.parse(file)
    if found is None:
        # packaging lets a project's name begin with a mark, which no index has.
        odd = (
            "+" in file.partition("-")[0] or any(mark in file for mark in "+!") or ".-" in file or not file[0].isalnum()
        )
        assert odd or not file.isascii()
        return
    assert (found.project, found.version.lower()) == (project, file.split("-")[1].lower())
    assert str(version)
    parts = (found.python.split("."), found.abi.split("."), found.platform.split("."))
    assert {Tag(python, abi, platform) for python in parts[0] for abi in parts[1] for platform in parts[2]} == expected


PYTHONS = st.sampled_from(["cp38", "cp310", "cp312", "cp313", "cp314", "cp313t", "cp314t"])
TAGS = st.tuples(
    st.sampled_from(["cp38", "cp39", "cp312", "cp313", "cp314", "py2.py3", "py3", "py312", "py313", "cp312.cp313"]),
    st.sampled_from(["none", "abi3", "cp312", "cp313", "cp313t", "cp312.abi3", "cp314t"]),
    st.sampled_from(["any", "linux_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64.manylinux_2_17_x86_64",
                     "manylinux_2_36_x86_64", "manylinux1_x86_64", "win_amd64", "manylinux_2_28_aarch64"]),
)  # fmt: skip


@given(PYTHONS, TAGS)
def test_a_wheel_suits_where_packaging_says_so(python: str, tag: tuple[str, str, str]) -> None:
    version = (3, int(python[3:].rstrip("t")))
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(35, 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    known = {
        *cpython_tags(version, [python], platforms),
        *compatible_tags(version, f"cp{version[0]}{version[1]}", platforms),
    }
    wheel = wheelnames.parse(f"torch-1.0-{'-'.join(tag)}.whl")
    assert wheel is not None
    expected = known & set(parse_wheel_filename(f"torch-1.0-{'-'.join(tag)}.whl")[3])

    assert (wheelnames.rank(wheel, python, Platform("linux", "x86_64", "2.35", "glibc")) is not None) == bool(expected)


@pytest.mark.parametrize(("tag", "suits"), [
    ("py312-none-any", True), ("cp312-abi3.cp312-linux_x86_64", True), ("cp39-abi3-any", False),
    ("cp39-abi3-linux_x86_64", True), ("cp313-abi3-linux_x86_64", False), ("py2.py3-none-any", True),
    ("py313-none-any", False), ("cp312-none-linux_x86_64", True),
])  # fmt: skip
def test_tags_that_were_once_misread(tag: str, suits: bool) -> None:
    wheel = wheelnames.parse(f"torch-1.0-{tag}.whl")
    assert wheel is not None

    assert (wheelnames.rank(wheel, "cp312", Platform("linux", "x86_64", "2.35", "glibc")) is not None) == suits


@pytest.mark.parametrize("platform", ["linux-x86_64", "linux-aarch64", "linux-s390x", "windows-x86_64", "windows-arm64",
                                      "macos-arm64", "macos-x86_64"])  # fmt: skip
def test_every_platform_has_tags(platform: str) -> None:
    wheel = wheelnames.parse("torch-1.0-py3-none-any.whl")
    assert wheel is not None
    assert wheelnames.rank(wheel, "cp312", Platform.parse(platform)) is not None
    assert wheelnames.rank(wheel, "pp310", Platform.parse(platform)) is not None


def test_more_tags_than_any_wheel_has_are_none() -> None:
    many = ".".join("a" * 16)
    assert [wheelnames.parse(f"a-1-{many}-{many}-{last}.whl") is None for last in ("a", "a.a")] == [False, True]


BASE = "https://wheels.example/whl/torch/"
FILE = "torch-2.9.0-cp312-cp312-win_amd64.whl"


@pytest.mark.parametrize(("page", "links", "yanked"), [
    (f"<a href={FILE}>x</a>", 1, None),
    (f"<a href={FILE} data-yanked=broken>x</a>", 1, "broken"),
    (f"<a href={FILE} data-yanked='a b'>x</a>", 1, "a b"),
    (f"<script>var x = '<a href=\"{FILE}\">'</script>", 0, None),
    (f"<!-- <a href={FILE}> -->", 0, None),
    (f"<p title='<a href={FILE}>'>", 0, None),
    (f"<a href=file:///srv/{FILE}>", 0, None),
    (f"<a href=ftp://x.example/{FILE}>", 0, None),
    (f"<a href={'9' * 5000}.whl><a href=torch-{'9' * 5000}-cp312-cp312-win_amd64.whl>", 0, None),
    (f"<a href={FILE} data-requires-python='>={'9' * 5000}'>", 1, None),
])  # fmt: skip
def test_what_a_page_links_to(page: str, links: int, yanked: str | None) -> None:
    found = pages.files(page.encode(), BASE)

    assert len(found) == links
    assert not found or found[0].yanked == yanked


def test_a_number_of_any_length_is_refused() -> None:
    with pytest.raises(WheelLayoutError):
        pages.files(b'{"files": [{"url": "x", "size": ' + b"9" * 5000 + b"}]}", BASE, "application/json")
