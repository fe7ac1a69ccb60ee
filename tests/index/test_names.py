"""What file names tell."""

from __future__ import annotations

import pytest

from torchpick.index import wheelnames


@pytest.mark.parametrize(("tag", "platform", "glibc"), [
    ("manylinux_2_28_aarch64", "linux-aarch64", "2.28"), ("manylinux1_x86_64", "linux-x86_64", "2.5"),
    ("linux_x86_64", "linux-x86_64", None), ("win_amd64", "windows-x86_64", None), ("win_arm64", "windows-arm64", None),
    ("macosx_11_0_arm64", "macos-arm64", None), ("macosx_10_9_x86_64", "macos-x86_64", None), ("any", None, None),
    ("musllinux_1_2_x86_64", None, None), ("linux_armv7l", None, None),
])  # fmt: skip
def test_a_tags_platform(tag: str, platform: str | None, glibc: str | None) -> None:
    assert (wheelnames.platform_of(tag), wheelnames.glibc_of(tag)) == (platform, glibc)
