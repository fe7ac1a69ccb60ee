"""How much of a text is searched for what it says of its machine, by words of a test's own."""

from __future__ import annotations

import pytest

from torchpick.doctor.situation import Situation


@pytest.mark.parametrize(
    ("facts", "platform"),
    [
        ("", None),
        ("linux", "linux-x86_64"),
        ("aarch64", "linux-aarch64"),
        ("linux aarch64", "linux-aarch64"),
        ("windows", "windows-x86_64"),
        ("windows aarch64 linux", "windows-arm64"),
        ("macos linux windows", "macos-arm64"),
        ("macos intel", "macos-x86_64"),
        ("intel", None),
    ],
)
def test_the_platform_of_the_facts(facts: str, platform: str | None) -> None:
    assert Situation(facts=dict.fromkeys(facts.split(), "")).platform == platform
