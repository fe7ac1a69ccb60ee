from __future__ import annotations

import pytest

from torchpick.install.env import uv_index
from torchpick.install.files import measured_hash, torch_wheels
from torchpick.model.build import Build, Evidence, Rank, Verdict
from torchpick.model.pick import Pick, Wish

RANK = Rank(2, ((2, 14, 1), 0, 0), 2, True, (12, 6), "cu126")


def build(**changes: object) -> Build:
    facts: dict[str, object] = {
        "torch": "2.14.1",
        "backend": "cu126",
        "platform": "linux-x86_64",
        "version": "2.14.1+cu126",
        "cuda": "12.6",
        "arches": (),
        "pythons": ("cp37", "cp38", "cp311", "cp313", "cp314", "cp314t"),
        "tags": ("manylinux_2_28_x86_64",),
        "glibc": "2.28",
        "libraries": {},
        "lacks": {},
        "published": True,
        "yanked": False,
        "companions": {},
        "companion_basis": {},
        "evidence": Evidence("declared", "a list"),
    }
    return Build(**{**facts, **changes})  # type: ignore[arg-type]


def files(made: Build, tag: str = "cp311") -> list[str]:
    return [wheel.file for wheel in torch_wheels(made, tag, "https://host/whl/cu126")]


@pytest.mark.parametrize(
    ("wish", "name", "url"),
    [
        (Wish(), "pytorch-cu126", "https://download.pytorch.org/whl/cu126"),
        (Wish(channel="nightly"), "pytorch-cu126", "https://download.pytorch.org/whl/nightly/cu126"),
        (Wish(index_base="https://mirror/whl/"), "pytorch-cu126", "https://mirror/whl/cu126"),
        (Wish(index_base="flat+https://mirror/wheels/"), "pytorch-mirror", "https://mirror/wheels/"),
    ],
)
def test_uv_is_given_the_index_of_the_pick(wish: Wish, name: str, url: str) -> None:
    entry = uv_index(Pick((), wish, (Verdict(build(), (), (), RANK),), ()))
    assert entry is not None

    assert (entry["name"], entry["url"], entry["explicit"]) == (name, url, True)
    assert ("format" in entry) == wish.index_base.startswith("flat+")


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("cp311", "torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"),
        ("cp314t", "torch-2.14.1+cu126-cp314-cp314t-manylinux_2_28_x86_64.whl"),
        ("cp37", "torch-2.14.1+cu126-cp37-cp37m-manylinux_2_28_x86_64.whl"),
        ("cp38", "torch-2.14.1+cu126-cp38-cp38-manylinux_2_28_x86_64.whl"),
    ],
)
def test_names_by_python(tag: str, expected: str) -> None:
    assert files(build(), tag=tag) == [expected]


def test_a_hash_is_given_only_for_the_very_file_that_was_read() -> None:
    file = "torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"
    read = build(evidence=Evidence("measured", f"{file} sha256:{'a' * 64}"))

    assert (measured_hash(read, file), measured_hash(read, file.replace("311", "313"))) == ("a" * 64, None)
