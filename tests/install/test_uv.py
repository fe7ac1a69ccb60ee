"""What uv is told of an environment elsewhere, and what neither it nor pip hears where a vendor supplies torch."""

from __future__ import annotations

import pytest

from tests.install.jobs import PICK, job
from torchpick.install.installers import PipInstaller, UvInstaller, resolution_options, uv_platform
from torchpick.model.build import VendorIndex
from torchpick.model.machine import Machine, Platform, Python

NAMES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
ELSEWHERE: dict[str, str] = dict.fromkeys((*NAMES, "UV_DEFAULT_INDEX", "UV_INDEX_URL"), "https://evil.example/simple")


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


def test_where_a_vendor_supplies_torch_no_place_of_the_users_is_beside_its_index() -> None:
    vendor = VendorIndex("AMD", "https://v.example/whl", "--index-url", alone=True)
    verdicts = tuple(each._replace(build=each.build._replace(vendor=vendor)) for each in PICK.verdicts)
    asked = job(pick=PICK._replace(verdicts=verdicts), needs=frozenset({"torch"}))

    pip, uv = PipInstaller(("pip",), "26.0").command(asked), UvInstaller("/uv").command(asked)

    heard = {name for name, value in pip.environ(ELSEWHERE).items() if name.startswith("PIP_") and value.strip()}
    assert heard == {"PIP_INDEX_URL"}  # which the option hides
    assert pip.argv[1:4] == ("install", "--index-url", vendor.url)
    heard = {name for name in uv.environ(ELSEWHERE) if name.startswith("UV_")}
    assert heard == {"UV_DEFAULT_INDEX", "UV_INDEX_URL"}
    assert ("--no-config", "--default-index", vendor.url) == (uv.argv[3], *uv.argv[6:8])
