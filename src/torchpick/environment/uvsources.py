"""Where uv takes a project's torch from: our sources and conflicts beside the author's, each with its systems; pure.

uv refuses two sources of one package that hold at once, so an entry of the author's leaves ours its systems and keeps
the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchpick.environment import toml
from torchpick.model.versions import marker_applies

Entry = Mapping[str, Any]

# What says of an entry for whom it is.
_AUDIENCE = ("extra", "group")
_SYSTEM = re.compile(r"sys_platform == ['\"](\w+)['\"]")
# The platforms that wheels are for, as markers.
_MARKERS = {
    "linux-x86_64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux-aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "windows-x86_64": "sys_platform == 'win32'",
    "macos-arm64": "sys_platform == 'darwin'",
}
MARKED_PLATFORMS = tuple(_MARKERS)


def marker_of(platforms: Iterable[str]) -> str:
    """Where something holds: Linux alone where both of it have it; nowhere else than on these platforms."""
    there = frozenset(platforms)
    markers = {platform: marker for platform, marker in _MARKERS.items() if platform in there}
    linux = [markers.pop(platform) for platform in ("linux-x86_64", "linux-aarch64") if platform in markers]
    return " or ".join((*(linux if len(linux) < 2 else ["sys_platform == 'linux'"]), *markers.values()))


def merged(theirs: object, ours: object) -> object | None:
    """The author's sources of a package, with ours among them; None where both cannot stand in one project."""
    entries, added = toml.tables(theirs), toml.tables(ours)
    if any("index" not in entry for entry in entries):
        return None
    if {_audience(entry) for entry in added} == {()}:  # a pin
        if any(entry["index"] == added[0]["index"] for entry in entries):
            return theirs
        if any(map(_audience, entries)):
            return None
    audiences = {*map(_audience, entries)} - {()}
    added = [entry for entry in added if _audience(entry) not in audiences]
    if not added:
        return theirs
    beyond = outside(str(entry.get("marker", "")) for entry in added)
    left = [entry if _audience(entry) else _narrowed(entry, beyond) for entry in entries]
    return [*filter(None, left), *added]


def merged_conflicts(theirs: object, ours: Sequence[Sequence[Entry]]) -> object | None:
    """The author's sets of what excludes each other, with ours joined to the one that has some of it."""
    if not isinstance(theirs, list) or not all(isinstance(group, list) for group in theirs):
        return None
    (own,) = ours
    number = next((number for number, group in enumerate(theirs) if any(item in group for item in own)), None)
    if number is None:
        return [*theirs, list(own)]
    joined = [*theirs[number], *(item for item in own if item not in theirs[number])]
    return theirs if joined == theirs[number] else [*theirs[:number], joined, *theirs[number + 1 :]]


def chooses(sources: object) -> bool:
    """Whether an extra or a group says where the package comes from."""
    return any(map(_audience, toml.tables(sources)))


def applies(theirs: object, environment: Mapping[str, str]) -> bool:
    """Whether the author names an index for everybody on this system."""
    entries = (entry for entry in toml.tables(theirs) if not _audience(entry))
    return any(marker_applies(str(entry.get("marker", "")), environment) for entry in entries)


def _audience(entry: Entry) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(entry[key])) for key in _AUDIENCE if key in entry)


def outside(markers: Iterable[str]) -> tuple[str, ...]:
    """Where none of these markers of ours holds, as conditions that all hold; empty where that is nowhere."""
    parts = dict.fromkeys(part for marker in markers for part in marker.split(" or "))
    if "" in parts:
        return ()
    negated = (part.replace("==", "!=").replace(" and ", " or ") for part in parts)
    return tuple(f"({part})" if " or " in part else part for part in negated)


def _narrowed(entry: Entry, beyond: tuple[str, ...]) -> Entry | None:
    """The author's entry on the systems that ours leave; None where there are none."""
    if not beyond:
        return None
    marker = str(entry.get("marker", ""))
    parts = [part.strip() for part in marker.split(" or ")]
    systems = [match[1] if (match := _SYSTEM.fullmatch(part)) else None for part in parts]
    if None in systems:
        either = f"({marker})" if " or " in marker else marker
        return {**entry, "marker": " and ".join(filter(None, (either, *beyond)))}
    away = [part for part in beyond if not part.startswith("(")]
    left = []
    for part, system in zip(parts, systems, strict=True):
        if not any(f"'{system}'" in other for other in away):
            more = [other for other in beyond if other.startswith(f"(sys_platform != '{system}'")]
            left.append(" and ".join((part, *more)))
    return {**entry, "marker": " or ".join(left)} if left else None
