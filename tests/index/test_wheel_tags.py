"""Which Python and platform a wheel's tags suit, and which of several it takes first."""

from __future__ import annotations

import pytest

from torchpick.index import wheelnames
from torchpick.model.machine import Platform

LINUX = Platform("linux", "x86_64", "2.35", "glibc")
ARM = Platform("linux", "aarch64", "2.35", "glibc")
MUSL = Platform("linux", "x86_64", None, "musl")
AGELESS = Platform("linux", "x86_64")
MAC, OLD_MAC = Platform("macos", "arm64"), Platform("macos", "x86_64")
WINDOWS, WINDOWS_ARM = Platform("windows", "x86_64"), Platform("windows", "arm64")


def rank(tag: str, python: str, platform: Platform) -> int | None:
    wheel = wheelnames.parse(f"torch-1.0-{tag}.whl")
    assert wheel is not None
    return wheelnames.rank(wheel, python, platform)


@pytest.mark.parametrize(
    ("platform", "tags"),
    [
        (LINUX, "linux_x86_64 manylinux_2_35_x86_64 manylinux_2_17_x86_64 manylinux2014_x86_64 manylinux2010_x86_64 "
                "manylinux1_x86_64 any"),
        (ARM, "linux_aarch64 manylinux_2_35_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64 any"),
        (AGELESS, "linux_x86_64 manylinux_2_60_x86_64 manylinux_2_5_x86_64 manylinux1_x86_64 any"),
        (MUSL, "linux_x86_64 musllinux_1_9_x86_64 musllinux_1_0_x86_64 any"),
        (MAC, "macosx_26_0_arm64 macosx_11_0_arm64 macosx_11_0_universal2 any"),
        (OLD_MAC, "macosx_26_0_x86_64 macosx_10_9_x86_64 any"),
        (WINDOWS, "win_amd64 any"),
        (WINDOWS_ARM, "win_arm64 any"),
    ],
)  # fmt: skip
def test_the_wheel_that_is_nearest_to_the_machine_goes_first(platform: Platform, tags: str) -> None:
    ranks = [rank(f"py3-none-{tag}", "cp312", platform) for tag in tags.split()]

    assert None not in ranks
    assert ranks == sorted(ranks, key=lambda each: each or 0)
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize(
    ("platform", "tags"),
    [
        (LINUX, "manylinux_2_36_x86_64 manylinux_2_4_x86_64 manylinux_2_28_aarch64 musllinux_1_2_x86_64 win_amd64"),
        (ARM, "manylinux1_aarch64 manylinux2010_aarch64 manylinux_2_28_x86_64"),
        (AGELESS, "manylinux_2_61_x86_64"),
        (MUSL, "manylinux_2_17_x86_64 manylinux2014_x86_64 musllinux_1_10_x86_64"),
        (MAC, "macosx_11_0_x86_64 macosx_27_0_arm64 linux_arm64"),
        (OLD_MAC, "macosx_11_0_arm64"),
        (WINDOWS, "win_arm64 win_x86_64 win32"),
        (WINDOWS_ARM, "win_amd64"),
    ],
)  # fmt: skip
def test_what_is_for_another_machine_is_not_taken(platform: Platform, tags: str) -> None:
    assert {tag: rank(f"py3-none-{tag}", "cp312", platform) for tag in tags.split()} == dict.fromkeys(tags.split())


@pytest.mark.parametrize(
    ("python", "tags", "others"),
    [
        ("cp312", "cp312-cp312 cp312-abi3 cp312-none cp39-abi3 py312-none py3-none py38-none",
         "cp313-abi3 cp312-cp312t"),
        ("cp314t", "cp314-cp314t cp314-none py314-none py3-none", "cp314-cp314 cp39-abi3"),
        ("cp37", "cp37-cp37m cp37-abi3 cp36-abi3 py37-none", "cp37-cp37"),
        ("cp38", "cp38-cp38", "cp38-cp38m"),
    ],
)  # fmt: skip
def test_the_wheel_that_is_nearest_to_the_python_goes_first(python: str, tags: str, others: str) -> None:
    ranks = [rank(f"{tag}-linux_x86_64", python, LINUX) for tag in tags.split()]

    assert None not in ranks
    assert ranks == sorted(ranks, key=lambda each: each or 0)
    assert {tag: rank(f"{tag}-linux_x86_64", python, LINUX) for tag in others.split()} == dict.fromkeys(others.split())


def test_of_several_tags_the_best_counts() -> None:
    assert rank("cp312-cp312-linux_x86_64", "cp312", LINUX) == 0
    assert rank("py3.cp312-none.cp312-any.linux_x86_64", "cp312", LINUX) == 0


@pytest.mark.parametrize(
    ("python", "version"),
    [("cp312", (3, 12)), ("cp39", (3, 9)), ("cp314t", (3, 14)), ("pp310", (3, 10)), ("cp3", (3, 0)), ("cp", (3, 0)),
     ("any", (3, 0)), ("cp3_1", (3, 0)), ("py2", (2, 0))],
)  # fmt: skip
def test_the_version_of_a_tag(python: str, version: tuple[int, int]) -> None:
    assert wheelnames.version_of(python) == version


@pytest.mark.parametrize(
    ("tag", "platform", "glibc"),
    [
        ("musllinux_1_2_x86_64.manylinux_2_28_x86_64", "linux-x86_64", "2.28"),
        ("manylinux_2_28_s390x.manylinux_2_17_s390x", "linux-s390x", "2.17"),
        ("manylinux_2_17_aarch64.manylinux2014_aarch64", "linux-aarch64", "2.17"),
        ("manylinux2010_x86_64.manylinux_2_12_x86_64", "linux-x86_64", "2.12"),
        ("manylinux2014_x86_64.manylinux1_x86_64", "linux-x86_64", "2.5"),
        ("linux_armv7l.linux_aarch64", "linux-aarch64", None),
        ("win32.win_amd64", "windows-x86_64", None),
        ("macosx_11_0_universal2", None, None),
        ("macosx_10_9_i386.macosx_10_9_x86_64", None, None),
    ],
)
def test_the_platform_of_several_tags(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("torch-2.0_cu118-cp312-cp312-linux_x86_64.whl", "2.0+cu118"),
        ("torch-2.0_rc1-cp312-cp312-linux_x86_64.whl", "2.0_rc1"),
        ("torch-2.0+cu118-cp312-cp312-linux_x86_64.whl", "2.0+cu118"),
        (f"{'t' * 234}-1.0-py3-none-any.whl", "1.0"),
        (f"{'t' * 235}-1.0-py3-none-any.whl", None),
        (f"t-1.0-py3-none-{'.'.join(f'a{place}' for place in range(60))}.whl", "1.0"),
        (f"t-1.0-{'.'.join('abcdefghijklmnop')}-{'.'.join('abcdefghijklmnop')}-any.whl", "1.0"),
        (f"t-1.0-{'.'.join('abcdefghijklmnop')}-{'.'.join('abcdefghijklmnopq')}-any.whl", None),
        (f"t-1.0-{'.'.join('abcdefghijklmnop')}-none-{'.'.join('abcdefghijklmnopq')}.whl", None),
        ("t-1.0-x-py3-none-any.whl", None),
    ],
)
def test_a_wheels_version_and_how_much_a_name_may_say(file: str, version: str | None) -> None:
    found = wheelnames.parse(file)

    assert (None if found is None else found.version) == version


def test_every_kind_of_compiler_is_known_by_its_file_and_eight_are_named() -> None:
    files = [
        "bin/ptxas",
        "ptxas.exe",
        "a/libnvrtc.so.12.4",
        "nvrtc64_120_0.dll",
        "a/_nvrtc.pyx",
        "libnvvm.so.4",
        "nvvm.dll",
    ]
    others = ["a/ptxas.py", "aptxas", "a/libnvvm.a", "nvvm.pyd", "libnvrtc/notes.txt", "anvrtc.so"]

    assert wheelnames.compilers([*others, *files]) == tuple(sorted(files))
    assert wheelnames.compilers(f"{letter}/ptxas" for letter in "jihgfedcba") == tuple(
        f"{letter}/ptxas" for letter in "abcdefgh"
    )
