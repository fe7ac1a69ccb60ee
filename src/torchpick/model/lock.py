"""A lock: every package of one or several environments, each with its files and their hashes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from torchpick.errors import UsageError
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers

# The contract's platform names as the markers of PEP 508 call them.
_SYSTEMS = {"linux": "linux", "windows": "win32", "macos": "darwin"}
_CPUS = {"windows-x86_64": "AMD64", "windows-arm64": "ARM64"}


class File(Noun):
    """One file; `sha256` is None only until it is known."""

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self) -> str:
        """The file's own name: `%2B` in a URL is its plus."""
        last = self.url.partition("?")[0].rpartition("/")[2]
        return re.sub(r"%([2-7][0-9A-Fa-f])", lambda match: chr(int(match[1], 16)), last)


class Package(Noun):
    """A package at one version: wheels and a source archive of an index, or the one place that was asked for."""

    name: str
    version: str | None = None
    wheels: tuple[File, ...] = ()
    sdist: File | None = None
    archive: File | None = None
    vcs: Mapping[str, str] | None = None
    index_url: str | None = None

    @property
    def files(self) -> tuple[File, ...]:
        return (*self.wheels, *(each for each in (self.sdist, self.archive) if each is not None))

    @property
    def source(self) -> object:
        """What tells it from another package of its name."""
        place = self.archive.url if self.archive is not None else None
        return self.version, place, None if self.vcs is None else tuple(sorted(self.vcs.items()))


class Environment(Noun):
    """What a marker can tell of an environment, and `free_threaded`, which none can."""

    platform: str
    python: str
    free_threaded: bool = False

    @property
    def facts(self) -> dict[str, str]:
        """The variables of PEP 508."""
        system, _, cpu = self.platform.partition("-")
        return {
            "sys_platform": _SYSTEMS.get(system, system),
            "platform_machine": _CPUS.get(self.platform, cpu),
            "python_version": self.python,
        }

    @property
    def marker(self) -> str:
        return " and ".join(f"{name} == '{value}'" for name, value in self.facts.items())

    @property
    def label(self) -> str:
        return f"Python {self.python}{'t' if self.free_threaded else ''} on {self.platform}"


class Part(Noun):
    """What one environment takes."""

    environment: Environment
    packages: tuple[Package, ...]


class Entry(Noun):
    """A package and where it belongs; an empty marker is everywhere that the lock is for."""

    package: Package
    marker: str = ""


class Lock(Noun):
    """The whole, for the environments named."""

    environments: tuple[str, ...]
    requires_python: str
    entries: tuple[Entry, ...]


def merged(parts: Sequence[Part]) -> Lock:
    """One lock for all; UsageError where no marker can tell two environments apart that need different packages."""
    _check(parts)
    found: dict[tuple[str, object], dict[str, Package]] = {}
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
        entries.append(Entry(first, "" if len(places) == len(markers) else _any(places)))
    entries.sort(key=lambda each: (each.package.name, each.package.version or "", each.marker))
    return Lock(markers, _requires([part.environment for part in parts]), tuple(entries))


def _joined(known: Package | None, package: Package) -> Package:
    """The files of both: another platform takes another wheel of the same version."""
    if known is None:
        return package
    wheels = {each.url: each for each in (*known.wheels, *package.wheels)}
    return known._replace(wheels=tuple(wheels.values()), sdist=known.sdist or package.sdist)


def _any(markers: Iterable[str]) -> str:
    each = list(markers)
    return each[0] if len(each) == 1 else " or ".join(f"({marker})" for marker in each)


def _requires(environments: Sequence[Environment]) -> str:
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
