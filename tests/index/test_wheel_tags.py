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


@pytest.mark.parametrize(("tag", "platform", "glibc"), [
    ("musllinux_1_2_x86_64.manylinux_2_28_x86_64", "linux-x86_64", "2.28"),
    ("manylinux_2_28_s390x.manylinux_2_17_s390x", "linux-s390x", "2.17"),
    ("manylinux_2_17_aarch64.manylinux2014_aarch64", "linux-aarch64", "2.17"),
    ("manylinux2010_x86_64.manylinux_2_12_x86_64", "linux-x86_64", "2.12"),
    ("manylinux2014_x86_64.manylinux1_x86_64", "linux-x86_64", "2.5"),
    ("linux_armv7l.linux_aarch64", "linux-aarch64", None), ("win32.win_amd64", "windows-x86_64", None),
    ("macosx_11_0_universal2", None, None), ("macosx_10_9_i386.macosx_10_9_x86_64", None, None),
])  # fmt: skip
def test_the_platform_of_several_tags(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)


@pytest.mark.parametrize(("file", "version"), [
    ("torch-2.0_cu118-cp312-cp312-linux_x86_64.whl", "2.0+cu118"),
    ("torch-2.0_rc1-cp312-cp312-linux_x86_64.whl", "2.0_rc1"),
    ("torch-2.0+cu118-cp312-cp312-linux_x86_64.whl", "2.0+cu118"), (f"{'t' * 234}-1.0-py3-none-any.whl", "1.0"),
    (f"{'t' * 235}-1.0-py3-none-any.whl", None),
    (f"t-1.0-py3-none-{'.'.join(f'a{place}' for place in range(60))}.whl", "1.0"),
    (f"t-1.0-{'.'.join('abcdefghijklmnop')}-{'.'.join('abcdefghijklmnop')}-any.whl", "1.0"),
    (f"t-1.0-{'.'.join('abcdefghijklmnop')}-{'.'.join('abcdefghijklmnopq')}-any.whl", None),
    (f"t-1.0-{'.'.join('abcdefghijklmnop')}-none-{'.'.join('abcdefghijklmnopq')}.whl", None),
    ("t-1.0-x-py3-none-any.whl", None),
])  # fmt: skip
def test_a_wheels_version_and_how_much_a_name_may_say(file: str, version: str | None) -> None:
    found = wheelnames.parse(file)

    assert (None if found is None else found.version) == version
