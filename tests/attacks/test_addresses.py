"""An address is not text: whatever a page, a record or the table has for one, nothing is less checked for it.

`python -m tests.attacks.addresses` prints the table of what came of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.attacks.addresses import CORE, HostileAddress, Playground, addresses, playground
from tests.process.install.installers import Installers

pytestmark = [pytest.mark.process, pytest.mark.network]
BY_NAME = {attack.name: attack for attack in addresses()}


@pytest.fixture
def tried(tmp_path: Path, installers: Installers) -> Iterator[Playground]:
    with playground(tmp_path, installers) as made:
        yield made


def trouble(tried: Playground, attack: HostileAddress, installer: str) -> str:
    """What torchpick made of the address that it should not have; empty where all is well."""
    ours = tried.torchpick(attack, installer)
    if ours.harm or ours.installed != attack.is_good or (ours.status == 0) != attack.is_good:
        plain = tried.plain(attack, installer)
        return f"{attack.name}: {ours} (plain {installer}: {plain})\n{ours.words[-600:]}"
    return ""


def test_a_hostile_address_changes_nothing(tried: Playground, newest: str) -> None:
    found = [trouble(tried, BY_NAME[name], newest) for name in CORE]

    assert not any(found), "\n".join(found)


@pytest.mark.long
def test_no_hostile_address_makes_torchpick_weaker_than_the_installer(
    tried: Playground, newest: str, count: Callable[[str, int, int], None]
) -> None:
    failures = {}
    for name, attack in BY_NAME.items():
        plain, ours = None if attack.is_ours else tried.plain(attack, newest), tried.torchpick(attack, newest)
        allowed = plain.harm if plain is not None else set[str]()
        fails = attack.is_good and plain is not None and plain.installed and not ours.installed
        if ours.harm - allowed or fails or (not ours.installed and ours.status == 0):
            failures[name] = f"{ours} (plain {newest}: {plain})\n{ours.words[-600:]}"

    count(f"addresses with {newest}", len(BY_NAME), len(BY_NAME) - len(failures))
    assert len(BY_NAME) >= 60
    assert not failures, "\n\n".join(f"{name}: {text}" for name, text in failures.items())
