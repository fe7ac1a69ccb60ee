"""A OneOf behaves as enum.Enum does, and a scale as enum.IntEnum."""

from __future__ import annotations

import copy
import pickle
from enum import Enum, IntEnum

import pytest

from torchpick.model.arch import Fit
from torchpick.model.noun import OneOf, Scale


class Plain(Enum):
    RED = "r"
    BLUE = "b"

    @property
    def twice(self) -> str:
        return str(self.value) * 2


class Ours(OneOf):
    RED = "r"
    BLUE = "b"

    @property
    def twice(self) -> str:
        return str(self.value) * 2


class PlainRung(IntEnum):
    LOW = 0
    HIGH = 1


class OurRung(Scale):
    LOW = 0
    HIGH = 1


def test_its_members_are_what_an_enums_are() -> None:
    for ours, plain in zip(Ours, Plain, strict=True):
        assert (ours.name, ours.value, ours.twice) == (plain.name, plain.value, plain.twice)
        assert str(ours) == str(plain).replace("Plain", "Ours")
        assert Ours[plain.name] is Ours(plain.value) is ours
    assert len(Ours) == len(Plain)
    assert len({*Ours, *Ours}) == 2


def test_a_member_is_one_thing_wherever_it_comes_from() -> None:
    for member in Ours:
        assert pickle.loads(pickle.dumps(member)) is member  # noqa: S301
        assert copy.deepcopy(member) is copy.copy(member) is member


@pytest.mark.parametrize("kind", [Plain, Ours])
def test_what_is_no_member_is_refused(kind: type[Plain | Ours]) -> None:
    with pytest.raises(ValueError, match="not a valid"):
        kind("green")
    with pytest.raises(KeyError):
        kind["GREEN"]


def test_a_scale_is_ordered_as_numbers_are() -> None:
    for kind in (OurRung, PlainRung):
        low, high = kind.LOW, kind.HIGH
        assert low < high
        assert max(low, high) is high
        assert (bool(low), bool(high), int(high), [high]) == (False, True, 1, [1])
    assert [fit.value for fit in Fit] == [*range(len(Fit))]
