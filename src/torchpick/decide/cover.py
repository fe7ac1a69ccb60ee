"""The fewest sets that cover everything, exactly, and among those the ones whose worst member is best. Pure.

Little really differs: elements with the same sets are merged, an element whose sets all cover another one is dropped,
and so does a set that another covers and betters. What is left is searched by branch and bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchpick.model.noun import Noun


class CoverSet(Noun):
    """A candidate set: the elements it covers, as bits, and its worth in two orders; larger is better.

    The first order is compared over all chosen sets, the worst first; the second only where the first leaves a tie.
    """

    bits: int
    worth: tuple[object, ...]
    detail: tuple[object, ...]


_Worths = tuple[tuple[object, ...], ...]


class _Cover(Noun):
    """Sets that cover what is left, by place, with their worths from the worst to the best."""

    chosen: tuple[int, ...]
    worths: _Worths
    details: _Worths

    @property
    def order(self) -> tuple[int, _Worths, _Worths]:
        return -len(self.chosen), self.worths, self.details


_NOTHING = _Cover((), (), ())


def fewest(columns: Sequence[CoverSet]) -> tuple[int, ...]:
    """The places of the columns that cover all that can be covered."""
    candidates = undominated(dict(enumerate(columns)))
    everything = 0
    for column in candidates.values():
        everything |= column.bits
    return _Search(_essential(candidates, everything), candidates).best()


def undominated(columns: dict[int, CoverSet]) -> dict[int, CoverSet]:
    """Without the columns that another one covers and equals or betters."""
    best: dict[int, int] = {}
    for place, column in columns.items():
        known = best.get(column.bits)
        if column.bits and (known is None or _better(column, columns[known])):
            best[column.bits] = place
    kept: list[int] = []
    for bits, place in sorted(best.items(), key=lambda item: item[0].bit_count(), reverse=True):
        column = columns[place]
        if not any(bits & ~columns[other].bits == 0 and not _better(column, columns[other]) for other in kept):
            kept.append(place)
    return {place: columns[place] for place in kept}


def _better(one: CoverSet, other: CoverSet) -> bool:
    return (one.worth, one.detail) > (other.worth, other.detail)


def _essential(columns: dict[int, CoverSet], everything: int) -> int:
    """The elements that decide: one of each kind, and none that every cover of another one covers as well."""
    options: dict[int, int] = {}
    for element in _bits(everything):
        able = sum(1 << place for place, column in columns.items() if column.bits >> element & 1)
        options.setdefault(able, element)
    kept: list[int] = []
    for able in sorted(options, key=int.bit_count):
        if not any(other & ~able == 0 for other in kept):
            kept.append(able)
    return sum(1 << options[able] for able in kept)


def _bits(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Search:
    """Branch and bound over the element that has the fewest candidates, with what was solved remembered."""

    def __init__(self, elements: int, columns: dict[int, CoverSet]) -> None:
        self._elements = elements
        cut = {place: column._replace(bits=column.bits & elements) for place, column in columns.items()}
        self._columns = undominated(cut)
        self._able = {
            element: tuple(place for place, column in self._columns.items() if column.bits >> element & 1)
            for element in _bits(elements)
        }
        self._reach = {
            element: _union(self._columns[place].bits for place in able) for element, able in self._able.items()
        }
        self._known: dict[tuple[int, int], _Cover | None] = {}

    def best(self) -> tuple[int, ...]:
        for count in range(self._least(self._elements), len(self._columns) + 1):
            cover = self._solve(self._elements, count)
            if cover is not None:
                return cover.chosen
        return ()

    def _least(self, left: int) -> int:
        """A lower bound: elements of which no two have a candidate in common."""
        count = 0
        for element in sorted(_bits(left), key=lambda element: len(self._able[element])):
            if left >> element & 1:
                count += 1
                left &= ~self._reach[element]
        return count

    def _solve(self, left: int, count: int) -> _Cover | None:
        """The best cover of what is left with exactly so many columns, or fewer where fewer are enough."""
        if not left:
            return _NOTHING
        if count <= 0 or self._least(left) > count:
            return None
        key = left, count
        if key not in self._known:
            element = min(_bits(left), key=lambda element: len(self._able[element]))
            best: _Cover | None = None
            for place in self._able[element]:
                rest = self._solve(left & ~self._columns[place].bits, count - 1)
                if rest is None:
                    continue
                cover = self._with(place, rest)
                if best is None or cover.order > best.order:
                    best = cover
            self._known[key] = best
        return self._known[key]

    def _with(self, place: int, rest: _Cover) -> _Cover:
        column = self._columns[place]
        return _Cover(
            (*rest.chosen, place),
            tuple(sorted((*rest.worths, column.worth))),
            tuple(sorted((*rest.details, column.detail))),
        )


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
