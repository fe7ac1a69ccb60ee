"""What a project needs beside what it names: torchvision for timm, torchaudio for speechbrain, torch for builds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from torchpick.environment import rewrite
from torchpick.environment.projectfile import NeededPackage, PackageVersion, Project
from torchpick.model.build import COMPANIONS
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts
from torchpick.model.versions import named, parsed

# Each lists every package of a resolution under its `name`.
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")


class NeededCompanion(Noun):
    """A companion that the project does not name, and what needs it."""

    name: str
    by: str


def completed(
    project: Project, known: Mapping[str, PackageFacts], folder: str
) -> tuple[Project, tuple[NeededCompanion, ...]]:
    """The project with the companions that its packages need (what no extra pins comes from the default index)."""
    added = tuple(one for one in companions(project, known, folder) if one.name not in project.companions)
    names = {*project.companions, *(one.name for one in added)}
    whole = project._replace(
        companions=tuple(name for name in COMPANIONS if name in names),
        builds_with_torch=built_with_torch(project, known),
        packages=pinning(project, known),
    )
    return whole, added


def companions(project: Project, known: Mapping[str, PackageFacts], folder: str) -> tuple[NeededCompanion, ...]:
    """The companions that the project's packages need, by the table and by the lock beside the file."""
    found: dict[str, str] = {}
    for name in project.needs:
        for companion in _below(name, known) & set(COMPANIONS):
            found.setdefault(companion, name)
    for lock in _LOCKS:
        text = _text(os.path.join(folder, lock))
        for companion in COMPANIONS:
            if re.search(rf'(?m)^name = "{companion}"$', text):
                found.setdefault(companion, lock)
    return tuple(NeededCompanion(name, found[name]) for name in COMPANIONS if name in found)


def _below(name: str, known: Mapping[str, PackageFacts]) -> set[str]:
    """A package and all that it needs, as far as the table knows; its newest version stands for all."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        package = waiting.pop()
        if package in seen or package not in known or not known[package].versions:
            seen.add(package)
            continue
        seen.add(package)
        waiting += [named(text) for text in known[package].versions[0].requires]
    return seen


def pinning(project: Project, known: Mapping[str, PackageFacts]) -> tuple[NeededPackage, ...]:
    """The packages that do not go with every torch or every CUDA, as vllm, whose versions pin one torch each."""
    found = []
    names = {name for need in project.needs for name in _below(need, known)} - {"torch", *COMPANIONS}
    for name in sorted(names):
        versions = known[name].versions if name in known and known[name].source_only is None else ()
        asked = [_asked(package) for package in versions if not package.yanked]
        # An old version that says nothing of torch goes with every torch by its metadata alone.
        if asked and _narrows(asked[0]):
            found.append(NeededPackage(name, tuple(filter(_narrows, asked))))
    return tuple(found)


def _narrows(version: PackageVersion) -> bool:
    return version.cuda is not None or any(operator in version.torch for operator in ("==", "<", "~="))


def _asked(package: Package) -> PackageVersion:
    torch = [parsed(text).specifier for text in package.requires if named(text) == "torch"]
    major = package.cuda.split(".")[0] if package.cuda and package.links_torch else None
    return PackageVersion(",".join(str(one) for one in torch if str(one)), major)


def built_with_torch(project: Project, known: Mapping[str, PackageFacts]) -> tuple[str, ...]:
    """The packages that are built from source against the torch of the environment."""
    return tuple(name for name in project.needs if name in known and _builds_with_torch(known[name]))


def _builds_with_torch(facts: PackageFacts) -> bool:
    return facts.source_only is not None and any(package.links_torch for package in facts.versions[:1])


def _text(file: str) -> str:
    there = rewrite.read(file) if os.path.isfile(file) and os.path.getsize(file) <= rewrite.MOST_BYTES else None
    return "" if there is None else there.text
