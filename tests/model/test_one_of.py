"""A OneOf behaves as enum.Enum does, and a scale as enum.IntEnum."""

from __future__ import annotations

import copy
import pickle
from enum import Enum, IntEnum

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
    assert len({*Ours, *Ours}) == 2


def test_a_member_is_the_same_one_wherever_it_comes_from() -> None:
    for member in Ours:
        for copied in (pickle.loads(pickle.dumps(member)), copy.deepcopy(member)):  # noqa: S301
            assert (copied, copied.name, copied.value) == (member, member.name, member.value)


def test_a_scale_is_ordered_as_numbers_are() -> None:
    for kind in (OurRung, PlainRung):
        low, high = kind.LOW, kind.HIGH
        assert low < high
        assert max(low, high) is high
        assert (bool(low), bool(high), int(high), [high]) == (False, True, 1, [1])
    assert [fit.value for fit in Fit] == [0, 1, 2, 3]
