"""CUDA_VISIBLE_DEVICES, read the way CUDA reads it. Pure.

The rules: CUDA programming guide, environment variables; torch's own tests of `torch.cuda._parse_visible_devices`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Read like strtoul: `1gpu` is 1.
_INDEX = re.compile(r"\s*\+?(\d{1,9})")


def shown(value: str, gpus: Sequence[str | None], order: Sequence[int] | None) -> frozenset[int] | None:
    """Which of the GPUs (by their UUIDs) the variable shows; `order` is their sequence as CUDA counts them.

    None where it cannot be known: it names instances (MIG), or indices where CUDA's order (the fastest first) is not
    known. Anything invalid ends the list, and what comes twice empties it.
    """
    words = [word.strip() for word in value.split(",")[:1000]]
    if words[0].startswith("MIG-"):
        return None
    if words[0].startswith("GPU-"):
        return _distinct([_named(word, gpus) for word in words])
    places = _distinct([_numbered(word, len(gpus)) for word in words])
    if len(places) in (0, len(gpus)):
        return places
    return None if order is None else frozenset(order[place] for place in places if place < len(order))


def _distinct(places: Sequence[int | None]) -> frozenset[int]:
    listed = places[: places.index(None)] if None in places else places
    found = frozenset(place for place in listed if place is not None)
    return found if len(found) == len(listed) else frozenset()


def _named(word: str, gpus: Sequence[str | None]) -> int | None:
    """The one GPU whose UUID begins so; an index or another kind of name does not mix."""
    places = [place for place, uuid in enumerate(gpus) if uuid is not None and uuid.startswith(word)]
    return places[0] if word.startswith("GPU-") and len(places) == 1 else None


def _numbered(word: str, count: int) -> int | None:
    match = _INDEX.match(word)
    return int(match[1]) if match is not None and int(match[1]) < count else None
