"""The Enum and IntEnum of what each start loads behave as the library's own do."""

from __future__ import annotations

import copy
import enum
import pickle

from torchpick import model
from torchpick.model.arch import Fit


class Plain(enum.Enum):
    RED = "r"
    BLUE = "b"

    @property
    def twice(self) -> str:
        return str(self.value) * 2


class Ours(model.Enum):
    RED = "r"
    BLUE = "b"

    @property
    def twice(self) -> str:
        return str(self.value) * 2


def test_its_members_are_what_an_enums_are() -> None:
    for ours, plain in zip(Ours, Plain, strict=True):
        assert (ours.name, ours.value, ours.twice) == (plain.name, plain.value, plain.twice)
        assert str(ours) == str(plain).replace("Plain", "Ours")
    assert len({*Ours, *Ours}) == 2


def test_a_member_is_the_same_one_wherever_it_comes_from() -> None:
    for member in (*Ours, *Fit):
        for copied in (pickle.loads(pickle.dumps(member)), copy.deepcopy(member)):  # noqa: S301
            assert copied is member


def test_a_fit_is_ordered_as_numbers_are() -> None:
    assert [fit.value for fit in Fit] == sorted(Fit) == [0, 1, 2, 3]
    assert max(Fit.NONE, Fit.JIT) is Fit.JIT
    assert (bool(Fit.NONE), bool(Fit.JIT)) == (False, True)
