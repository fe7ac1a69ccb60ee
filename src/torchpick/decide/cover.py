"""The fewest sets that cover everything, exactly, and among those the ones whose worst member is best. Pure.

Little really differs: elements with the same sets are merged, and a set that another covers and betters is dropped.
What is left is searched by branch and bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from torchpick.model.noun import Noun

K = TypeVar("K")


class CoverSet(Noun):
    """A candidate set: the elements it covers, as bits, and its worth in two orders; larger is better.

    The first order is compared over all chosen sets, the worst first; the second only where the first leaves a tie.
    """

    bits: int
    worth: tuple[object, ...]
    detail: tuple[object, ...]


def fewest(columns: Mapping[K, CoverSet]) -> tuple[K, ...]:
    """The columns that cover all that can be covered."""
    return _Search(undominated(columns)).best()


def undominated(columns: Mapping[K, CoverSet]) -> dict[K, CoverSet]:
    """Without the columns that another one covers and equals or betters."""
    best: dict[int, K] = {}
    for place, column in columns.items():
        known = best.get(column.bits)
        if column.bits and (known is None or _better(column, columns[known])):
            best[column.bits] = place
    kept: list[K] = []
    for bits, place in sorted(best.items(), key=lambda item: item[0].bit_count(), reverse=True):
        column = columns[place]
        if not any(bits & ~columns[other].bits == 0 and not _better(column, columns[other]) for other in kept):
            kept.append(place)
    return {place: columns[place] for place in kept}


def _better(one: CoverSet, other: CoverSet) -> bool:
    return (one.worth, one.detail) > (other.worth, other.detail)


def _bits(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Search:
    """Branch and bound over the element that has the fewest candidates, with what was solved remembered."""

    def __init__(self, columns: Mapping[Any, CoverSet]) -> None:
        everything = _union(column.bits for column in columns.values())
        # Elements with the same columns count once.
        options = {
            tuple(place for place, column in columns.items() if column.bits >> element & 1): element
            for element in _bits(everything)
        }
        self._able = {element: able for able, element in options.items()}
        self._elements = sum(1 << element for element in self._able)
        self._columns = {place: column._replace(bits=column.bits & self._elements) for place, column in columns.items()}
        self._reach = {
            element: _union(self._columns[place].bits for place in able) for element, able in self._able.items()
        }
        self._known: dict[tuple[int, int], tuple[Any, ...] | None] = {}

    def best(self) -> tuple[Any, ...]:
        for count in range(self._least(self._elements), len(self._columns) + 1):
            if (cover := self._solve(self._elements, count)) is not None:
                return cover
        return ()

    def _least(self, left: int) -> int:
        """A lower bound: elements of which no two have a candidate in common."""
        count = 0
        for element in sorted(_bits(left), key=lambda element: len(self._able[element])):
            if left >> element & 1:
                count += 1
                left &= ~self._reach[element]
        return count

    def _solve(self, left: int, count: int) -> tuple[Any, ...] | None:
        """The best cover of what is left with exactly so many columns, or fewer where fewer are enough."""
        if not left:
            return ()
        if count <= 0 or self._least(left) > count:
            return None
        key = left, count
        if key not in self._known:
            element = min(_bits(left), key=lambda element: len(self._able[element]))
            rests = (
                (place, self._solve(left & ~self._columns[place].bits, count - 1)) for place in self._able[element]
            )
            covers = [(*rest, place) for place, rest in rests if rest is not None]
            self._known[key] = max(covers, key=self._order, default=None)
        return self._known[key]

    def _order(self, cover: tuple[Any, ...]) -> tuple[object, ...]:
        """The fewest first; then the better, the worst member of each compared first."""
        chosen = [self._columns[place] for place in cover]
        return -len(chosen), sorted(each.worth for each in chosen), sorted(each.detail for each in chosen)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
