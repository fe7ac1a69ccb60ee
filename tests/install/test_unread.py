"""What a wheel by its address tells before it is read."""

from __future__ import annotations

import pytest

from torchpick.index.user_index import IndexTarget
from torchpick.install import unread
from torchpick.install.unread import FoundWheel
from torchpick.model.machine import Platform

AIM = IndexTarget("cp312", Platform("linux", "x86_64", "2.35"))
PLACE = "https://here.example/swift-2.0-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize("sha256", ["a" * 64, None])
def test_the_hash_in_an_address_belongs_to_the_wheel(sha256: str | None) -> None:
    found = unread._at_place(FoundWheel("swift", "", None, place=PLACE + (f"#sha256={sha256}" if sha256 else "")), AIM)

    assert found.wheel is not None
    assert (found.version, found.wheel.link.url, found.wheel.link.sha256) == ("2.0", PLACE, sha256)


def test_what_is_for_another_machine_or_no_wheel_is_not_read() -> None:
    elsewhere = unread._at_place(
        FoundWheel("swift", "", None, place=PLACE.replace("manylinux_2_28_x86_64", "win_amd64")), AIM
    )
    source = unread._at_place(FoundWheel("swift", "", None, place="https://here.example/swift-2.0.tar.gz"), AIM)

    assert (elsewhere.wheel, source.wheel) == (None, None)
    assert elsewhere.why.endswith("win_amd64.whl is not for Python 3.12 on linux-x86_64")
    assert source.why == "it is not taken from a wheel"
