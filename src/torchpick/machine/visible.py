"""CUDA_VISIBLE_DEVICES, read the way CUDA reads it. Pure.

The rules: CUDA programming guide, environment variables; torch's own tests of `torch.cuda._parse_visible_devices`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchpick.model.noun import Noun

# Read like strtoul: `1gpu` is 1, `+3` is 3, `-0` is 0.
_INDEX = r"\s*([+-]?)(\d{1,9})"


class Choice(Noun):
    """What the variable asks for: indices in CUDA's order, or names. Both None: every GPU."""

    indices: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None


def parse(value: str | None) -> Choice:
    """Read the variable; unset is every GPU, anything invalid ends the list."""
    if value is None:
        return Choice()
    words = value.split(",")[:1000]
    first = words[0].strip()
    for prefix in ("GPU-", "MIG-"):
        if first.startswith(prefix):
            return Choice(names=_names(words, prefix))
    return Choice(indices=_indices(words))


def _names(words: Sequence[str], prefix: str) -> tuple[str, ...]:
    names: list[str] = []
    for word in words:
        name = word.strip()
        if not name.startswith(prefix):
            break  # an index or another kind of name does not mix
        if name in names:
            return ()  # a repeat empties the list
        names.append(name)
    # CUDA enumerates one MIG device at most.
    return tuple(names[:1] if prefix == "MIG-" else names)


def _indices(words: Sequence[str]) -> tuple[int, ...]:
    indices: list[int] = []
    for word in words:
        match = re.match(_INDEX, word)
        if match is None:
            break
        index = int(match[2])
        if match[1] == "-" and index:
            break
        if index in indices:
            return ()
        indices.append(index)
    return tuple(indices)


def chosen(choice: Choice, gpus: Sequence[str | None], order: Sequence[int] | None) -> frozenset[int] | None:
    """Which of the GPUs (by their UUIDs) the choice shows; `order` is their sequence as CUDA counts them.

    None where it cannot be known: it names instances (MIG), or indices where CUDA's order (the fastest first) is not
    known.
    """
    if choice.names is not None:
        return _by_name(choice.names, gpus)
    if choice.indices is None:
        return frozenset(range(len(gpus)))
    places = []
    for index in choice.indices:
        if index >= len(gpus):
            break  # the first index out of range ends the list
        places.append(index)
    if len(places) in (0, len(gpus)):
        return frozenset(places)
    if order is None:
        return None
    return frozenset(order[index] for index in places if index < len(order))


def _by_name(names: Sequence[str], gpus: Sequence[str | None]) -> frozenset[int] | None:
    found: list[int] = []
    for name in names:
        if name.startswith("MIG-"):
            return None
        places = [place for place, uuid in enumerate(gpus) if uuid is not None and uuid.startswith(name)]
        if len(places) != 1 or places[0] in found:
            break  # ambiguous or nobody's: the list ends here
        found.append(places[0])
    return frozenset(found)
