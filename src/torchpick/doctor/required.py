"""What installed packages require of one another, held against what is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from torchpick.doctor.cure import TorchRequirement
from torchpick.doctor.facts import Demand, InstalledTorch, MissingRequirement
from torchpick.environment.distributions import Distribution, Environment
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.requirement import normal, parsed
from torchpick.model.versions import admits

# A name at the start of a requirement.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
# What torch's own metadata pins.
OF_TORCH = ("nvidia-", "cuda-", "triton", "pytorch-triton")
# Their own requirements are looked at; what anything else lacks is pip's business.
_OURS = ("torch", *COMPANIONS, "torchcodec")
# Frameworks that need no torch: an environment that has one, and where nothing asks for torch, lacks none.
_FRAMEWORKS = re.compile(
    r"(?:jax|jaxlib|jax-cuda\d+-p.*|tensorflow(?:-.*)?|tf-nightly.*|cupy(?:-.*)?|paddlepaddle(?:-.*)?|mindspore"
    r"|onnxruntime(?:-.*)?|ctranslate2|llama-cpp-python|xgboost|mxnet(?:-.*)?)"
)


def missing(here: Environment, machine: Machine) -> Iterator[MissingRequirement]:
    """What torch and its companions require for this platform, and is not there at all."""
    facts = _facts(here, machine)
    for demand in _demanded(here, lambda one, _: one.name in _OURS and one.installer != "conda" and not here.conda):
        if here.find(demand.name) is None and marker_applies(demand.marker, facts):
            requirement = f"{demand.name}{demand.specifier}"
            yield MissingRequirement(demand.by.label, demand.name, requirement)


def torch_is_wanted(here: Environment) -> bool:
    """Whether an environment without torch should have one: nothing else was made for GPUs there, or something asks."""
    if not any(_FRAMEWORKS.fullmatch(one.name) for one in here.distributions):
        return True
    facts = _facts(here, None)
    return any(marker_applies(demand.marker, facts) for demand in _demanded(here, lambda _, name: name == "torch"))


def asks(here: Environment) -> Iterator[TorchRequirement]:
    """What installed packages ask of torch; the companions that are pinned with it are not heard."""
    facts = _facts(here, None)
    for demand in _demanded(here, lambda one, name: name == "torch" and one.name not in ("torch", *COMPANIONS)):
        if marker_applies(demand.marker, facts):
            try:
                admitted = admits(demand.specifier, prereleases=True)
            except ValueError:
                continue
            yield TorchRequirement(demand.by.label, f"torch{demand.specifier}", admitted)


def unmet(here: Environment, torch: InstalledTorch | None, machine: Machine) -> Iterator[Demand]:
    """Requirements on torch, and torch's own on the libraries of CUDA, held against what is installed."""
    from torchpick.doctor import binaries

    facts = _facts(here, machine)
    for one, name, specifier, marker in _demanded(
        here, lambda one, name: name == "torch" or (one.name == "torch" and name.startswith(OF_TORCH))
    ):
        if not specifier:
            continue
        other = here.find(name)
        has = torch.version if name == "torch" and torch is not None else other.version if other is not None else None
        if has is None:
            continue  # what is missing shows as a library that is missing
        try:
            met = admits(specifier, prereleases=True)(has)
        except ValueError:
            continue
        if not met and marker_applies(marker, facts):
            links = name == "torch" and binaries.links_torch(one)
            yield Demand(one.label, f"{name}{specifier}", name, f"{name} {has}", links)


class Demanded(Noun):
    """A line of a project's metadata that requires another project."""

    by: Distribution
    name: str
    specifier: str
    marker: str


def _demanded(here: Environment, wanted: Callable[[Distribution, str], bool]) -> Iterator[Demanded]:
    """What installed projects require of the wanted ones; a line that is not valid is nobody's demand."""
    for one in here.named(""):
        for line in one.requires:
            # Parsing every line of a large environment takes a second.
            start = _NAME.match(line)
            if start is not None and wanted(one, normal(start[0])) and (demanded := _parsed(one, line)) is not None:
                yield demanded


def _parsed(one: Distribution, line: str) -> Demanded | None:
    try:
        requirement = parsed(line)
    except ValueError:
        return None
    return Demanded(one, normal(requirement.name), str(requirement.specifier), str(requirement.marker or ""))


def _facts(here: Environment, machine: Machine | None) -> Mapping[str, str]:
    platform = None if machine is None else machine.platform
    return marker_facts(here.version, here.full_version, platform, here.implementation)
