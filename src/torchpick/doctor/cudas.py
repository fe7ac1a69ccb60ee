"""Which CUDA the installed packages need, and whether torch and the driver are of the same: judged as a plan is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from torchpick.decide.packagefit import OWN_WHEELS, Situation
from torchpick.doctor import binaries, loader
from torchpick.doctor.facts import NVIDIA, Absent, InstalledTorch, PackageTrouble, Rivals
from torchpick.environment import distributions
from torchpick.environment.distributions import Distribution, Environment
from torchpick.model.package import Package, PackageFacts
from torchpick.model.verdict import Objection

# The libraries whose number is CUDA's major (libcufft's and libcusolver's are not).
_NUMBERED = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)(?:\.\d+)?")
# `cupy-cuda12x`, `jax-cuda13-plugin`, `faiss-gpu-cu12`.
_NAMED = re.compile(r"-cu(?:da)?(1[1-9])x?(?:-|$)")


def troubles(
    here: Environment, torch: InstalledTorch | None, situation: Situation, known: Mapping[str, PackageFacts]
) -> Iterator[PackageTrouble]:
    """Packages that link another CUDA than torch's, or bring one that the driver does not carry."""
    build = None if torch is None or torch.verdict is None else torch.verdict.build
    for one in here.named(""):
        if one.name == "torch" or one.name.startswith((NVIDIA, "cuda-", "triton", "pytorch-triton")):
            continue
        package = _package(one, known)
        if package is None or package.major is None:
            continue
        objection: Objection | None = None
        if build is not None and (package.links_torch or package.per_cuda):
            objection = situation.mismatch(package._replace(needs=()), build, (), OWN_WHEELS)
        objection = objection or situation.refusal(package._replace(code=()))
        if objection is not None:
            yield PackageTrouble(one.name, one.label, objection)


def _package(one: Distribution, known: Mapping[str, PackageFacts]) -> Package | None:
    """What its libraries ask for; what the table knows of that version where they open CUDA by name."""
    needed: set[str] = set()
    links = False
    for path in loader.loaded_libraries(one):
        names = binaries.needs(path).needed
        needed.update(name for name in names if _NUMBERED.fullmatch(name))
        links = links or any(name.startswith(("libtorch", "libc10")) for name in names)
    majors = {match[1] for name in needed if (match := _NUMBERED.fullmatch(name))}
    if len(majors) == 1:
        return Package(one.name, one.version, cuda=majors.pop(), links_torch=links, needs=tuple(sorted(needed)))
    if majors:
        return None  # a library for each CUDA: it loads the one of torch's
    row = _row(one, known)
    if row is not None:
        return row._replace(requires_python="", pythons=("any",), platforms=("any",), glibc=None, yanked=False)
    match = _NAMED.search(one.name)
    return Package(one.name, one.version, cuda=match[1]) if match is not None else None


def _row(one: Distribution, known: Mapping[str, PackageFacts]) -> Package | None:
    """What the table knows of the installed version."""
    facts = known.get(one.name)
    rows = () if facts is None else facts.versions
    return next((row for row in rows if row.version == one.version), None)


def absent(here: Environment, known: Mapping[str, PackageFacts], found: loader.LoaderFolders) -> Iterator[Absent]:
    """The libraries that a package opens by name (its own metadata does not say so) and that are nowhere."""
    rows = ((one, _row(one, known)) for one in here.named(""))
    opened = [(one, library) for one, row in rows if row is not None for library in row.needs]
    nowhere = [(one, library) for one, library in opened if not library.startswith("libcuda.so")]
    nowhere = [(one, library) for one, library in nowhere if not found.has(library)]
    if not nowhere:
        return
    held = {path.rpartition("/")[2] for one in here.named("") for path in distributions.libraries(one)}
    yield from (Absent(library, one.label) for one, library in nowhere if library not in held)


def rivals(here: Environment, known: Mapping[str, PackageFacts]) -> Iterator[Rivals]:
    """Projects that install the same module over one another, and whose files are there now."""
    seen: set[frozenset[str]] = set()
    for one in here.named(""):
        facts = known.get(one.name)
        for name in () if facts is None else facts.rivals:
            other = here.find(name)
            pair = frozenset({one.name, name})
            if other is not None and pair not in seen:
                seen.add(pair)
                yield Rivals(one.label, other.label, _winner(one, other))


def _winner(one: Distribution, other: Distribution) -> str | None:
    """Whose files are there, by the sizes that both recorded; None where the sizes do not show it."""
    mine, theirs = distributions.sizes(one), distributions.sizes(other)
    for path in sorted(mine.keys() & theirs.keys()):
        if mine[path] == theirs[path]:
            continue
        try:
            size = os.path.getsize(os.path.join(one.folder, path))
        except OSError:
            continue
        if size in (mine[path], theirs[path]):
            return one.label if size == mine[path] else other.label
    return None
