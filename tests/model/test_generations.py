"""The kinds of GPU that tables show: their examples are held against the names that the project knows."""

from __future__ import annotations

import os

import pytest

from torchpick.knowledge import compat
from torchpick.knowledge.gpuindex import Names
from torchpick.knowledge.gpunames import look_up
from torchpick.knowledge.locations import compat_dir
from torchpick.model.arch import Arch
from torchpick.model.machine import GpuProduct
from torchpick.model.table import Kind

RULES = compat.Knowledge(os.environ).rules


@pytest.fixture(scope="module")
def names() -> Names:
    return compat.read(os.path.join(compat_dir(os.environ), "index", "gpus.json"), Names.from_json)


@pytest.mark.parametrize("kind", RULES.nvidia, ids=lambda kind: str(kind.arch))
def test_every_example_has_the_capability_it_stands_for(kind: Kind, names: Names) -> None:
    for example in kind.examples:
        meant = look_up(example, names)
        assert isinstance(meant, GpuProduct)
        assert meant.arch == kind.arch, example


def test_every_capability_stands_once_and_in_order() -> None:
    capabilities = [kind.arch.capability for kind in RULES.nvidia]

    assert capabilities == sorted(set(capabilities))


def test_chips_of_arm_boards_are_found_on_no_other_platform() -> None:
    orin = RULES.kind_of(Arch.of_capability(8, 7))

    assert orin is not None
    assert orin.found_on("linux-aarch64")
    assert not orin.found_on("windows-x86_64")


@pytest.mark.parametrize("arch", [None, Arch.parse("gfx700"), Arch.of_capability(2, 0)])
def test_what_is_not_in_the_list_has_no_kind(arch: Arch | None) -> None:
    assert RULES.kind_of(arch) is None
