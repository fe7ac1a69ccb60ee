"""An address is not text: whatever a page has for one, nothing is less checked for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.addresses import ADDRESSES, HostileAddress, Playground, playground
from tests.process.install.installers import Installers

pytestmark = [pytest.mark.process, pytest.mark.network]


@pytest.fixture
def tried(tmp_path: Path, installers: Installers) -> Iterator[Playground]:
    with playground(tmp_path, installers) as made:
        yield made


def trouble(tried: Playground, attack: HostileAddress, installer: str) -> str:
    """What torchpick made of the address that it should not have; empty where all is well."""
    ours = tried.torchpick(attack, installer)
    if ours.harm or ours.installed != attack.is_good or (ours.status == 0) != attack.is_good:
        return f"{attack.name}: {ours}\n{ours.words[-600:]}"
    return ""


@pytest.mark.parametrize("addresses", [ADDRESSES[:4], pytest.param(ADDRESSES[4:], marks=pytest.mark.long)])
def test_a_hostile_address_changes_nothing(
    tried: Playground, newest: str, addresses: tuple[HostileAddress, ...]
) -> None:
    found = [trouble(tried, attack, newest) for attack in addresses]

    assert not any(found), "\n".join(found)
