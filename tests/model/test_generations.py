"""The kinds of GPU that tables show."""

from __future__ import annotations

import os

import pytest

from torchpick.knowledge import compat
from torchpick.model.arch import Arch

RULES = compat.Knowledge(os.environ).rules


def test_every_capability_stands_once_and_in_order() -> None:
    capabilities = [kind.arch.capability for kind in RULES.nvidia]

    assert capabilities == sorted(set(capabilities))


@pytest.mark.parametrize("arch", [None, Arch.parse("gfx700"), Arch.of_capability(2, 0)])
def test_what_is_not_in_the_list_has_no_kind(arch: Arch | None) -> None:
    assert RULES.kind_of(arch) is None
