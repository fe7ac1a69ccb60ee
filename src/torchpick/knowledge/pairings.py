"""Every companion of a build, also those that are not pinned with it, as `list --companions` shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from torchpick.model.build import BUILD_NAMES, COMPANIONS, Build
from torchpick.model.fields import Fields, read, written
from torchpick.model.versions import admits, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.model.versions import Admits


class KnownCompanion(NamedTuple):
    """A companion's version, and how it is known to belong to this torch."""

    version: str
    basis: str


class OtherCompanion(NamedTuple):
    """One release of a companion that is not pinned with torch: which torch, and which CUDA major if it links one."""

    name: str
    version: str
    torch: Admits
    cuda_major: int | None
    basis: str

    def fits(self, build: Build) -> bool:
        """Whether it belongs to this build; what links one CUDA does not work with another."""
        return self.torch(build.torch) and self.cuda_major in (None, build.cuda_major)


class BuildCompanions(NamedTuple):
    """A build and what goes with it by name."""

    build: Build
    companions: Mapping[str, KnownCompanion]

    def to_json(self) -> dict[str, object]:
        return {**written(self.build, *BUILD_NAMES), **written(self, "companions")}


def others(fields: Fields) -> tuple[OtherCompanion, ...]:
    """The `others` of companions.json, the newest of each first."""
    found = [read(OtherCompanion, row, torch=admits(row.text("torch"))) for row in fields.objects("others")]
    return tuple(sorted(found, key=lambda one: release_key(one.version), reverse=True))


def beside(build: Build, known: Iterable[OtherCompanion]) -> BuildCompanions:
    """What goes with a build: the pinned ones with their labels, the others by their newest fitting release."""
    companions = {
        name: KnownCompanion(version, build.companion_basis.get(name, "inferred"))
        for name in COMPANIONS
        if (version := build.companions.get(name)) is not None
    }
    if build.family in ("cuda", "cpu"):  # what is known of the others was read of these wheels alone
        for one in known:
            if one.name not in companions and one.fits(build):
                companions[one.name] = KnownCompanion(one.version, one.basis)
    return BuildCompanions(build, companions)
