"""The fewest sets, against a brute force, and what must not change them."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from torchpick.decide.matrix import CoverSet, smallest_cover, undominated

RELEASES = 6


def drawn(chance: random.Random, kinds: int) -> list[CoverSet]:
    """Builds as they are: a newer one drops old kinds, an older one lacks new ones, and some are odd."""
    found: list[CoverSet] = []
    for place in range(chance.randint(3, 14)):
        oldest = chance.randint(0, kinds)
        bits = sum(1 << kind for kind in range(oldest, min(kinds, oldest + chance.randint(1, kinds))))
        if chance.random() < 0.5:
            bits &= chance.getrandbits(kinds) | chance.getrandbits(kinds)
        found.append((bits, (True, chance.randrange(RELEASES)), (place,)))
    return found


def union(candidates: list[CoverSet]) -> int:
    found = 0
    for candidate in candidates:
        found |= candidate[0]
    return found


@pytest.mark.parametrize("seed", range(300))
def test_as_few_and_as_new_as_a_brute_force_finds(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    candidates = drawn(chance, chance.randint(1, 30))

    chosen = [candidates[place] for place in smallest_cover(dict(enumerate(candidates)))]

    covers = [
        (sorted(each[1] for each in cover), sorted(each[2] for each in cover))
        for cover in combinations(candidates, len(chosen))
        if union(list(cover)) == union(candidates)
    ]
    assert (sorted(each[1] for each in chosen), sorted(each[2] for each in chosen)) == max(covers)
    assert not chosen or not any(
        union(list(cover)) == union(candidates) for cover in combinations(candidates, len(chosen) - 1)
    )


@pytest.mark.parametrize("seed", range(300))
def test_one_more_kind_that_is_served_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    kinds = chance.randint(1, 30)
    candidates = drawn(chance, kinds)
    before = smallest_cover(dict(enumerate(candidates)))
    if not before:
        return
    served = chance.choice(before)
    more = [
        (each[0] | 1 << kinds, *each[1:]) if place == served or chance.random() < 0.4 else each
        for place, each in enumerate(candidates)
    ]

    assert set(smallest_cover(dict(enumerate(more)))) == set(before)


def test_a_column_that_another_covers_and_equals_is_left_out_whichever_came_first() -> None:
    small, large = (0b001, (True, 1), (1,)), (0b011, (True, 1), (1,))
    newer, none = (0b001, (True, 2), (1,)), (0, (True, 9), (1,))

    assert [*undominated({"small": small, "large": large, "none": none})] == ["large"]
    assert {*undominated({"large": large, "newer": newer, "none": none})} == {"large", "newer"}
    assert smallest_cover({"none": none}) == ()
