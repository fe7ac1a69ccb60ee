"""The fewest sets that cover everything, exactly, and among those the ones whose worst member is best. Pure.

Little really differs: elements with the same sets are merged, and a set that another covers and betters is dropped.
What is left is searched, with what was solved remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeVar

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
    kept = undominated(columns)
    elements = {element for column in kept.values() for element in _bits(column.bits)}
    # Elements with the same columns count once.
    alike = {tuple(place for place, column in kept.items() if column.bits >> each & 1): each for each in elements}
    able = {element: places for places, element in alike.items()}

    @cache
    def best(left: int, count: int) -> tuple[K, ...] | None:
        """The best cover of what is left with so many columns; the element that has the fewest is covered first."""
        if not count:
            return None if left else ()
        element = min(_bits(left), key=lambda each: len(able[each]))
        rests = ((place, best(left & ~kept[place].bits, count - 1)) for place in able[element])
        return max(((*rest, place) for place, rest in rests if rest is not None), key=order, default=None)

    def order(cover: tuple[K, ...]) -> tuple[object, ...]:
        """The better, the worst member of each compared first."""
        chosen = [kept[place] for place in cover]
        return sorted(each.worth for each in chosen), sorted(each.detail for each in chosen)

    everything = sum(1 << element for element in able)
    covers = (best(everything, count) for count in range(len(kept) + 1))
    return next(cover for cover in covers if cover is not None)


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
