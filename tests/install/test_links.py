from __future__ import annotations

import pytest

from torchpick.install import links
from torchpick.model.build import Build, Evidence


def build(**changes: object) -> Build:
    facts: dict[str, object] = {
        "torch": "2.14.1",
        "backend": "cu126",
        "platform": "linux-x86_64",
        "version": "2.14.1+cu126",
        "cuda": "12.6",
        "arches": (),
        "pythons": ("cp37", "cp311", "cp313", "cp314", "cp314t"),
        "tags": ("manylinux_2_28_x86_64",),
        "glibc": "2.28",
        "libraries": {},
        "lacks": {},
        "published": True,
        "yanked": False,
        "companions": {},
        "companion_basis": "metadata",
        "evidence": Evidence("declared", "a list"),
    }
    return Build(**{**facts, **changes})  # type: ignore[arg-type]


def files(made: Build, name: str = "torch", tag: str = "cp311", version: str | None = None) -> list[str] | None:
    found = links.wheels(made, name, version or made.version, tag, "https://host/whl/cu126")
    return None if found is None else [wheel.file for wheel in found]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("cp311", "torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"),
        ("cp314t", "torch-2.14.1+cu126-cp314-cp314t-manylinux_2_28_x86_64.whl"),
        ("cp37", "torch-2.14.1+cu126-cp37-cp37m-manylinux_2_28_x86_64.whl"),
    ],
)
def test_names_by_python(tag: str, expected: str) -> None:
    assert files(build(), tag=tag) == [expected]


@pytest.mark.parametrize(
    ("torch", "tag", "abi"),
    [
        ("2.10.0", "cp311", "none"),
        ("2.10.0", "cp314", "cp314"),
        ("2.10.0", "cp314t", "cp314t"),
        ("2.11.0", "cp311", "cp311"),
    ],
)
def test_names_on_macos(torch: str, tag: str, abi: str) -> None:
    made = build(torch=torch, version=torch, platform="macos-arm64", backend="cpu", tags=("macosx_11_0_arm64",))

    assert files(made, tag=tag) == [f"torch-{torch}-{tag.rstrip('t')}-{abi}-macosx_11_0_arm64.whl"]


def test_companions_before_2_7_and_on_macos_have_no_known_name() -> None:
    assert files(build(), "torchvision", version="0.29.1+cu126") == [
        "torchvision-0.29.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"
    ]
    assert files(build(torch="2.6.0"), "torchvision") is None
    assert files(build(platform="macos-arm64"), "torchvision") is None


def test_a_python_without_a_wheel_has_none() -> None:
    assert files(build(), tag="cp39") is None


def test_the_page_has_encoded_addresses_and_plain_names() -> None:
    (wheel,) = links.wheels(build(), "torch", "2.14.1+cu126", "cp311", 'https://host/a"b&c') or ()

    page = links.page([wheel._replace(sha256="0" * 64)])

    assert 'href="https://host/a&quot;b&amp;c/torch-2.14.1%2Bcu126-cp311-cp311-' in page
    assert f'.whl#sha256={"0" * 64}">torch-2.14.1+cu126-' in page


def test_a_hash_is_given_only_for_the_very_file_that_was_read() -> None:
    file = "torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"
    read = build(evidence=Evidence("measured", f"{file} sha256:{'a' * 64}"))

    (same,) = links.wheels(read, "torch", read.version, "cp311", "https://host") or ()
    (other,) = links.wheels(read, "torch", read.version, "cp313", "https://host") or ()

    assert (same.sha256, other.sha256) == ("a" * 64, None)
