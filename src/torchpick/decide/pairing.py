"""Which companion a torch build has, and whether a demand for torch or a companion is met by it. Pure."""

from __future__ import annotations

from torchpick.decide.demands import PackageDemand
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.noun import Noun

# What a build may not meet; a demand for anything else says nothing of it.
CONCERNED = frozenset({"torch", "triton", *COMPANIONS})


class PairedVersion(Noun):
    """A companion of a build; `inferred` where its maintainers name only an older torch."""

    version: str
    inferred: bool = False


def companion(build: Build, name: str) -> PairedVersion | None:
    """The companion of this build, as the table or a refresh pairs them; None where there is none."""
    version = build.companions.get(name)
    return None if version is None else PairedVersion(version, inferred=build.companion_basis.get(name) == "inferred")


def meets(build: Build, demand: PackageDemand) -> bool:
    """Whether this build is what was asked; a demand for anything else is always met."""
    if demand.name not in CONCERNED:
        return True
    if demand.name == "torch":
        return demand.admits(build.version)
    if demand.name == "triton":  # a build pins its own; where that is not known, nothing speaks against it
        triton = build.libraries.get("triton")
        return triton is None or demand.admits(triton)
    version = build.companions.get(demand.name)
    return version is not None and demand.admits(version)
