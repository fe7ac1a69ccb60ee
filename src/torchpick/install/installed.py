"""What is installed in a target, as candidates of their projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from torchpick.environment import distributions
from torchpick.model.package import Package, Stage


def _normal(version: str) -> str | None:
    try:
        return str(Version(version))
    except InvalidVersion:
        return None


class Installed(NamedTuple):
    """Name → version, and the folders in which they lie."""

    versions: Mapping[str, str]
    folders: tuple[str, ...]

    @property
    def normal_versions(self) -> Mapping[str, str]:
        """As PEP 440 spells them, without what it does not allow."""
        spelled = ((name, _normal(version)) for name, version in self.versions.items())
        return {name: version for name, version in spelled if version is not None}

    def row(self, name: str) -> Package | None:
        """The version that is installed, by its own metadata; which GPUs its libraries are for is not read."""
        version = _normal(self.versions[name]) if name in self.versions else None
        one = None if version is None else distributions.installed(name, self.folders)
        if one is None or version is None:
            return None
        code = None if distributions.libraries(one) else ()
        return Package(name, version, requires=one.requires, code=code, stage=Stage.READ)
