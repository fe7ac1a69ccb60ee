"""The knowledge a decision needs: builds per platform, driver rules, library floors."""

from __future__ import annotations

from torchpick.model.amd import AmdRules
from torchpick.model.build import Build
from torchpick.model.drivers import DriverTable
from torchpick.model.libraries import LibraryFloors
from torchpick.model.machine import Note
from torchpick.model.macs import MpsFloor
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Read = Callable[[], tuple[Build, ...]]


class Shelf:
    """The builds of one platform by release, each release read when it is first asked for.

    Most questions are answered by the newest few of some fifty releases.
    """

    __slots__ = ("_read", "_unread")

    def __init__(self, unread: Mapping[str, Read]) -> None:
        self._unread = unread
        self._read: dict[str, tuple[Build, ...]] = {}

    @classmethod
    def of(cls, builds: Iterable[Build]) -> Shelf:
        """A shelf of builds that are read already, in no promised order."""
        by_release: dict[str, list[Build]] = {}
        for build in builds:
            by_release.setdefault(build.torch, []).append(build)
        return cls({torch: lambda found=tuple(found): found for torch, found in by_release.items()})  # type: ignore[misc]

    def releases(self) -> tuple[str, ...]:
        return tuple(self._unread)

    def builds(self, release: str) -> tuple[Build, ...]:
        if release not in self._read:
            self._read[release] = self._unread[release]()
        return self._read[release]

    def __iter__(self) -> Iterator[Build]:
        for release in self._unread:
            yield from self.builds(release)


NO_BUILDS = Shelf({})


class Table(Noun):
    """`builds` maps a platform's name to its shelf; `capabilities` are those that any GPU has.

    `date` is the day of the newest fact in it: of the evidence it was made from, or of the last refresh. `notes` say
    what of the cache was ignored.
    """

    builds: Mapping[str, Shelf]
    drivers: DriverTable
    floors: LibraryFloors = LibraryFloors()
    capabilities: frozenset[str] = frozenset()
    date: str | None = None
    notes: tuple[Note, ...] = ()
    amd: AmdRules = AmdRules()
    mps: tuple[MpsFloor, ...] = ()

    def of(self, platform: str) -> Shelf:
        return self.builds.get(platform, NO_BUILDS)
