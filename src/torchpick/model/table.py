"""The knowledge a decision needs: builds per platform, driver rules, library floors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchpick.model.build import Build
from torchpick.model.drivers import DriverTable
from torchpick.model.libraries import LibraryFloors


class Table(NamedTuple):
    """`builds` maps a platform's name to its builds, in no promised order."""

    builds: Mapping[str, tuple[Build, ...]]
    drivers: DriverTable
    floors: LibraryFloors = LibraryFloors()

    def of(self, platform: str) -> tuple[Build, ...]:
        return self.builds.get(platform, ())
