"""What containers, cubins and groups hold, and what only looks like them."""

from __future__ import annotations

import struct

import pytest

from tests.wheels import making
from torchpick.errors import WheelLayoutError
from torchpick.wheels import fatbin
from torchpick.wheels.fatbin import Images


def scanned(data: bytes) -> list[tuple[Images, bool]]:
    return list(fatbin.scan(data))


def codes(hit: tuple[Images, bool]) -> list[str]:
    return [str(arch) for _, arch, *_ in hit[0]]


def test_a_container_names_its_architectures_with_their_suffix() -> None:
    named = ["sm_20", "sm_50", "sm_90a", "sm_100f", "compute_120", "compute_90a", "sm_999"]
    [hit] = scanned(making.module(*named))

    assert codes(hit) == named


def test_compressed_images_are_named_without_unpacking() -> None:
    [hit] = scanned(making.module("sm_80", "compute_80", packed=True))

    assert codes(hit) == ["sm_80", "compute_80"]


def test_the_header_size_field_is_obeyed() -> None:
    sizes = (64, 72, 80, 112, 184)
    [hit] = scanned(making.container(*(making.entry("sm_75", header=size) for size in sizes)))

    assert codes(hit) == ["sm_75"] * len(sizes)


def test_padding_between_containers_is_passed() -> None:
    """PyTorch 2.15.0 for aarch64 starts each container on a 256-byte boundary."""
    first = making.module("sm_80")
    data = first + bytes(-len(first) % 256) + making.module("sm_90") + bytes(88) + making.module("sm_110")

    assert [codes(hit) for hit in scanned(data)] == [["sm_80"], ["sm_90"], ["sm_110"]]


def test_an_empty_container_is_passed() -> None:
    data = making.container() + making.module("sm_80")

    assert [codes(hit) for hit in scanned(data)] == [["sm_80"]]


def test_a_group_names_what_was_compressed_together() -> None:
    data = making.container(making.group("sm_80", "sm_90a", "sm_120f"), making.group("compute_90", "compute_120"))

    assert codes(scanned(data)[0]) == ["sm_80", "sm_90a", "sm_120f", "compute_90", "compute_120"]


def test_lto_ir_is_no_machine_code() -> None:
    [hit] = scanned(making.module("lto_50"))

    assert [kind for kind, *_ in hit[0]] == [making.LTO]


@pytest.mark.parametrize(("code", "size", "empty"), [
    ("sm_52", 872, True), ("sm_75", 1464, True), ("sm_90", 1736, True), ("sm_100", 2256, True),
    ("compute_75", 201, True), ("compute_75", 256, False), ("sm_75", 2856, False), ("sm_90", 3568, False),
    ("sm_120", 5016, False), ("sm_89", 1600, True), ("sm_89", 1601, False), ("sm_90", 2400, True),
    ("sm_90", 2401, False), ("compute_90", 224, True), ("compute_90", 225, False),
])  # fmt: skip
def test_an_image_without_a_kernel_is_told_by_its_size(code: str, size: int, empty: bool) -> None:
    for packed in (False, True):
        [hit] = scanned(making.module(code, size=size, packed=packed))
        assert hit[0][0][3] is empty


@pytest.mark.parametrize(("number", "specific", "new", "name"), [
    (80, False, False, "sm_80"), (90, True, False, "sm_90a"),
    (100, False, True, "sm_100"), (100, True, True, "sm_100a"),
])  # fmt: skip
def test_a_bare_cubin_says_what_it_is_for(number: int, specific: bool, new: bool, name: str) -> None:
    data = making.cubin(number, specific=specific, new=new)
    assert str(fatbin.cubin_arch(data)) == name
    assert fatbin.cubin_arch(data.replace(struct.pack("<H", 190), struct.pack("<H", 62))) is None


@pytest.mark.parametrize("chance", [
    fatbin.MAGIC + bytes(80),
    fatbin.MAGIC + struct.pack("<HHQ", 2, 16, 80) + bytes(80),
    fatbin.MAGIC + struct.pack("<HHQ", 1, 16, 1 << 60) + bytes(80),
    fatbin.MAGIC + struct.pack("<HHQ", 1, 16, 1 << 60) + making.entry("sm_70"),
    making.container(making.entry("sm_80"))[:60],
    making.container(bytes(64)),
    making.container(making.entry("sm_11")), making.container(making.entry("sm_80", header=68)),
    making.container((group := making.group("sm_90"))[:28] + struct.pack("<I", 80) + group[32:]),
    making.cubin(3),
    making.cubin(80).replace(struct.pack("<H", 190), struct.pack("<H", 62)),
])  # fmt: skip
def test_a_chance_hit_of_the_magic_is_passed_over(chance: bytes) -> None:
    hits = scanned(chance + making.module("sm_80"))

    assert [codes(hit) for hit in hits] == [["sm_80"]]


def test_a_container_whose_entries_end_in_nonsense_says_so() -> None:
    good = making.entry("sm_80")
    [hit] = scanned(making.container(good, b"\xff" * 128))

    assert hit[1]
    assert codes(hit) == ["sm_80"]


def test_a_group_with_a_lying_table_is_broken_and_no_more() -> None:
    group = bytearray(making.group("sm_80"))
    group[64:68] = struct.pack("<I", 60_000)
    for before in ([], ["sm_80"]):
        [hit] = scanned(making.container(*map(making.entry, before), bytes(group)))
        assert (hit[1], codes(hit)) == (True, before)


def test_more_containers_than_any_library_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin, "MOST_CONTAINERS", 2)
    assert len(scanned(making.module("sm_80") * 2)) == 2
    with pytest.raises(WheelLayoutError, match="more than 2 code containers"):
        scanned(making.module("sm_80") * 3)
