"""What uv is told of an environment elsewhere."""

from __future__ import annotations

import pytest

import torchpick
from torchpick.install.installers import resolution_options, uv_platform
from torchpick.model.machine import Machine, Platform, Python

PICK = torchpick.pick(gpus=["sm_61"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")


@pytest.mark.parametrize(
    ("platform", "glibc", "name"),
    [
        ("linux-x86_64", "2.35", "x86_64-manylinux_2_35"),
        ("linux-x86_64", "2.30", "x86_64-manylinux_2_28"),
        ("linux-aarch64", None, "aarch64-manylinux_2_28"),
        ("linux-x86_64", "2.99", "x86_64-manylinux_2_40"),
        ("linux-x86_64", "2.5", "x86_64-manylinux_2_17"),
        ("windows-x86_64", None, "x86_64-pc-windows-msvc"),
        ("windows-arm64", None, "aarch64-pc-windows-msvc"),
        ("macos-arm64", None, "aarch64-apple-darwin"),
    ],
)
def test_uv_is_given_the_platform_with_no_newer_glibc(platform: str, glibc: str | None, name: str) -> None:
    assert uv_platform(Machine(Platform.parse(platform, glibc), Python("3.12"))) == name


def test_of_what_is_passed_on_a_resolution_takes_what_it_knows() -> None:
    words = ("--strict", "--index-url", "https://own.example", "--find-links=https://x", "--user", "--no-build")

    assert resolution_options(words) == ["--index-url", "https://own.example", "--find-links=https://x", "--no-build"]
