"""Several environments → one lock: every package with the marker of where it belongs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchpick.errors import UsageError
from torchpick.model.lock import Lock, LockedPackage, LockEntry, LockEnvironment, Part
from torchpick.model.versions import numbers


def merged(parts: Sequence[Part]) -> Lock:
    """One lock for all; UsageError where two environments need different packages and no marker separates them."""
    _check(parts)
    found: dict[tuple[str, object], dict[str, LockedPackage]] = {}
    for part in parts:
        for package in part.packages:
            places = found.setdefault((package.name, package.source), {})
            places[part.environment.marker] = _joined(places.get(part.environment.marker), package)
    markers = tuple(dict.fromkeys(part.environment.marker for part in parts))
    entries = []
    for places in found.values():
        first, *others = places.values()
        for each in others:
            first = _joined(first, each)
        entries.append(LockEntry(first, "" if len(places) == len(markers) else _any(places)))
    entries.sort(key=lambda each: (each.package.name, each.package.version or "", each.marker))
    return Lock(markers, _requires([part.environment for part in parts]), tuple(entries))


def _joined(known: LockedPackage | None, package: LockedPackage) -> LockedPackage:
    """The files of both: another platform takes another wheel of the same version."""
    if known is None:
        return package
    wheels = {each.url: each for each in (*known.wheels, *package.wheels)}
    return known._replace(wheels=tuple(wheels.values()), sdist=known.sdist or package.sdist)


def _any(markers: Iterable[str]) -> str:
    each = list(markers)
    return each[0] if len(each) == 1 else " or ".join(f"({marker})" for marker in each)


def _requires(environments: Sequence[LockEnvironment]) -> str:
    pythons = sorted({numbers(each.python) for each in environments})
    (low, first), (high, last) = pythons[0][:2], pythons[-1][:2]
    return f">={low}.{first},<{high}.{last + 1}"


def _check(parts: Sequence[Part]) -> None:
    known: dict[str, Part] = {}
    for part in parts:
        other = known.setdefault(part.environment.marker, part)
        mine, theirs = ({each.name: each.source for each in one.packages} for one in (part, other))
        if mine != theirs:
            name = sorted(set(mine.items()) ^ set(theirs.items()), key=lambda item: item[0])[0][0]
            here, there = part.environment.label, other.environment.label
            raise UsageError(
                f"{here} needs another {name} than {there}, and no marker tells them apart",
                hint="`--each` writes one lock for each machine",
            )
