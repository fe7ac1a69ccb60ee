"""What a wheel by its address tells before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.errors import silent
from torchpick.index.user_index import IndexTarget
from torchpick.install import unread
from torchpick.install.unread import FoundWheel, LearntPackages
from torchpick.model.machine import Platform
from torchpick.model.package import Package, PackageFacts
from torchpick.wheels.packaged import Row

AIM = IndexTarget("cp312", Platform("linux", "x86_64", "2.35"))
PLACE = "https://here.example/swift-2.0-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize("sha256", ["a" * 64, None])
def test_the_hash_in_an_address_belongs_to_the_wheel(sha256: str | None) -> None:
    found = unread.at_place(FoundWheel("swift", "", None, place=PLACE + (f"#sha256={sha256}" if sha256 else "")), AIM)

    assert found.wheel is not None
    assert found.wheel.link.wheel.version == "2.0"
    assert (found.wheel.link.url, found.wheel.link.sha256) == (PLACE, sha256)


def test_what_is_for_another_machine_or_no_wheel_is_not_read() -> None:
    elsewhere = unread.at_place(
        FoundWheel("swift", "", None, place=PLACE.replace("manylinux_2_28_x86_64", "win_amd64")), AIM
    )
    source = unread.at_place(FoundWheel("swift", "", None, place="https://here.example/swift-2.0.tar.gz"), AIM)

    assert (elsewhere.wheel, source.wheel) == (None, None)
    assert elsewhere.why.endswith("win_amd64.whl is not for Python 3.12 on linux-x86_64")
    assert source.why == "it is not taken from a wheel"


def as_one(libraries: list[Row], *, all_read: bool) -> list[Row]:
    found = unread.as_one("swift", libraries, all_read=all_read)
    assert found is not None
    return found


def test_of_an_unknown_project_every_library_counts_and_all_together_decide() -> None:
    libraries: list[Row] = [
        {"path": "a", "main": True, "cuda": "12", "arches": "sm_80 sm_90"},
        {"path": "b", "arches": "sm_90 sm_75"},
    ]

    union, *each = as_one(libraries, all_read=True)

    assert (union["path"], union["main"], union["whole"]) == ("swift/swift", True, True)
    assert union["arches"] == "sm_80 sm_90 sm_75"
    assert [(one["path"], one["main"]) for one in each] == [("a", False), ("b", False)]


def test_a_version_that_is_read_stands_beside_those_of_the_table_and_once() -> None:
    class Reader(unread.UnreadWheels):
        def __init__(self) -> None: ...

        def packages(self, *_: object, **__: object) -> tuple[list[Package], dict[str, str]]:
            return [Package("swift", "2.0", needs=("libcudart.so.13",))], {}

    table = {"swift": PackageFacts("swift", (Package("swift", "2.0"), Package("swift", "1.0")))}
    packages = LearntPackages(table, "linux-x86_64", Reader())

    assert packages.read({"swift": "==2.0"})
    assert [(each.version, each.needs) for each in packages.facts["swift"].versions] == [
        ("2.0", ("libcudart.so.13",)), ("1.0", ()),
    ]  # fmt: skip
    assert not packages.read({"swift": "==2.0"})


@pytest.mark.parametrize(("whole", "all_read"), [(False, True), (True, False), (False, False)])
def test_what_was_read_in_part_is_not_whole(whole: bool, all_read: bool) -> None:  # two facts of a reading
    (union, _) = as_one([{"path": "a", "arches": "sm_80", "whole": whole}], all_read=all_read)

    assert union["whole"] is False


def test_without_code_it_depends_on_whether_all_was_read() -> None:
    assert unread.as_one("swift", [], all_read=True) == []
    assert unread.as_one("swift", [], all_read=False) is None


def test_where_the_places_of_the_user_cannot_be_read_a_wheel_by_its_path_still_can(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_bytes(b"[global]\nindex-url" + b"x" * (2 << 20))
    wheels = unread.UnreadWheels({"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path)}, silent, None, AIM)
    packages = LearntPackages({}, "linux-x86_64", wheels)

    assert packages.read({"swift": "", "other": ""}, {"swift": str(tmp_path / "swift-2.0-cp312-cp312-win_amd64.whl")})

    assert "is not for Python 3.12 on linux-x86_64" in packages.lacking["swift"]
    assert str(config) in packages.lacking["other"]
