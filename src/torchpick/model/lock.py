"""A lock: every package of one environment, each with its files and their hashes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_facts

# The variables of PEP 508 that tell the environments of locks apart.
_TELLING = ("sys_platform", "platform_machine", "python_version")


class LockFile(Noun):
    """One file; `sha256` is None only until it is known."""

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self) -> str:
        """The file's own name: `%2B` in a URL is its plus."""
        last = self.url.partition("?")[0].rpartition("/")[2]
        return re.sub(r"%([2-7][0-9A-Fa-f])", lambda match: chr(int(match[1], 16)), last)


class LockedPackage(Noun):
    """A package at one version: wheels and a source archive of an index, or the one place that was asked for."""

    name: str
    version: str | None = None
    wheels: tuple[LockFile, ...] = ()
    sdist: LockFile | None = None
    archive: LockFile | None = None
    vcs: Mapping[str, str] | None = None
    index_url: str | None = None

    @property
    def files(self) -> tuple[LockFile, ...]:
        return (*self.wheels, *(each for each in (self.sdist, self.archive) if each is not None))


class LockEnvironment(Noun):
    """What a marker can say of an environment, and `free_threaded`, which none can."""

    platform: str
    python: str
    free_threaded: bool = False

    @property
    def marker(self) -> str:
        known = marker_facts(self.python, platform=Platform.parse(self.platform))
        return " and ".join(f"{name} == '{known[name]}'" for name in _TELLING)

    @property
    def label(self) -> str:
        return f"Python {self.python}{'t' if self.free_threaded else ''} on {self.platform}"


class Lock(Noun):
    """What one environment takes."""

    environment: LockEnvironment
    packages: tuple[LockedPackage, ...]
