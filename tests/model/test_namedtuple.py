"""The NamedTuple of what each start loads behaves as typing.NamedTuple does."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import pytest

from torchpick import model


class Plain(NamedTuple):
    name: str
    size: int = 3
    parts: tuple[str, ...] = ()

    @property
    def twice(self) -> int:
        return self.size * 2


class Ours(model.NamedTuple):
    name: str
    size: int = 3
    parts: tuple[str, ...] = ()

    @property
    def twice(self) -> int:
        return self.size * 2


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), (("a", 1, (), 4), {}), (("a",), {"nope": 1}), (("a",), {"name": "b"})]
)
def test_it_refuses_what_a_named_tuple_refuses(values: tuple[object, ...], named: dict[str, object]) -> None:
    for kind in (Plain, Ours):
        with pytest.raises(TypeError):
            kind(*values, **named)  # type: ignore[arg-type]


def test_it_cannot_be_changed() -> None:
    ours = Ours("a")

    with pytest.raises(AttributeError):
        ours.name = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ours.other = "b"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="unexpected field names"):
        ours._replace(other="b")  # type: ignore[call-arg]


def test_it_is_hashable_comparable_and_travels() -> None:
    ours = Ours("a", 1)

    assert {ours: 1}[Ours("a", 1)] == 1
    assert pickle.loads(pickle.dumps(ours)) == ours  # noqa: S301 # our own bytes
    assert copy.deepcopy(ours) == ours
    assert Ours("a", 1) < Ours("a", 2)
