"""What installed packages require of torch, of CUDA's wheels and of one another, held against what is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from torchpick.decide.demands import PackageDemand
from torchpick.doctor import installedtorch
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment.distributions import Distribution, Environment
from torchpick.model import versions
from torchpick.model.build import COMPANIONS, family_of
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import Machine
from torchpick.model.versions import is_dotted, marker_applies, marker_facts, normal, numbers, parsed

# A name at the start of a requirement.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
# What torch's own metadata pins.
OF_TORCH = ("nvidia-", "cuda-", "triton", "pytorch-triton")
# Companions whose version file carries the local label, which their metadata may leave out.
LABELLED = (*COMPANIONS, "torchcodec")
# The first release that was compiled against NumPy 2 (its release notes).
_NUMPY_2 = (2, 3)


# A requirement of an installed package.
Demand = tuple[Distribution, PackageDemand]


def admits(demand: PackageDemand, version: str) -> bool:
    """Whether an installed version meets it; a pre-release may."""
    return versions.admits(demand.specifier, prereleases=True)(version)


def on(here: Environment, name: str) -> Iterator[Demand]:
    """What installed packages require of this project, where their markers hold."""
    return _applying(here, None, lambda _, other: other == name)


def _applying(
    here: Environment, machine: Machine | None, wanted: Callable[[Distribution, str], bool]
) -> Iterator[Demand]:
    """What installed packages require of the wanted projects; a line that is not valid is nobody's demand."""
    platform = "" if machine is None else machine.platform.name
    facts = marker_facts(here.python.version, here.python.exact, platform, here.python.implementation)
    for package in here.named(""):
        for line in package.requires:
            # Parsing every line of a large environment takes a second.
            start = _NAME.match(line)
            if start is None or not wanted(package, normal(start[0])):
                continue
            try:
                requirement = parsed(line)
                demand = PackageDemand(normal(requirement.name), str(requirement.specifier))
                admits(demand, "1")  # one that is not valid says so here
            except ValueError:
                continue
            if marker_applies(str(requirement.marker or ""), facts):
                yield package, demand


def missing(subject: EnvironmentUnderTest) -> list[Demand]:
    """What torch and its companions require for this platform, and is not there at all.

    What anything else lacks is pip's business; what conda installed is conda's.
    """
    here = subject.environment
    ours = ("torch", *LABELLED)
    demands = _applying(here, subject.machine, lambda package, _: package.name in ours and package.installer != "conda")
    return [] if here.conda else [(package, demand) for package, demand in demands if here.find(demand.name) is None]


def together(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """What does not go with the torch that is installed."""
    findings = list(_unmet(subject))
    yield from findings
    mismatched = {finding.seen["package"] for finding in findings if finding.ailment is Ailment.COMPANION_MISMATCH}
    yield from _companions(subject, {str(label).partition(" ")[0] for label in mismatched})


def _unmet(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Requirements on torch, and torch's own on the libraries of CUDA, that what is installed does not meet."""
    here, torch = subject.environment, subject.torch
    for package, demand in _applying(
        here,
        subject.machine,
        lambda package, name: name == "torch" or (package.name == "torch" and name.startswith(OF_TORCH)),
    ):
        other = here.find(demand.name)
        has = None if other is None else other.version
        if demand.name == "torch" and torch is not None:
            has = torch.version
        if has is None or admits(demand, has):
            continue  # what is missing shows as a library that is missing
        if torch and demand.name == "torch" and installedtorch.links_torch(package):
            ours = package.name in COMPANIONS
            by_hand = f"install the release of {package.name} that was built for torch {torch.release}"
            yield Finding(
                Ailment.COMPANION_MISMATCH,
                f"{package.label} was built for {demand.text}, and {torch.label} is {subject.state}",
                {"package": package.label, "requires": demand.text, "torch": torch.version},
                advice=None if ours else f"{by_hand}, or the torch that it asks for",
                by_torch=ours,
            )
        else:
            yield Finding(
                Ailment.REQUIREMENT_UNMET,
                f"{package.label} requires {demand.text}, and {demand.name} {has} is {subject.state}",
                {"package": package.label, "requires": demand.text, "has": f"{demand.name} {has}"},
                advice=f"install {demand.text}" if demand.name != "torch" else None,
            )


def _companions(subject: EnvironmentUnderTest, mismatched: set[str]) -> Iterator[Finding]:
    """A companion of another release by the table, where its own requirement has not said so, or of another CUDA."""
    here, torch = subject.environment, subject.torch
    if torch is None:
        return
    row = subject.table.find(subject.machine.platform.name, torch.release, torch.backend)
    for package in filter(None, map(here.find, LABELLED)):
        version = installedtorch.version(package.folder, package.name) or package.version
        # Only what a companion's own metadata or its maintainers say; an inferred pair is no ground for a finding.
        expected = None
        if row is not None and row.companion_basis.get(package.name) in ("metadata", "declared"):
            expected = row.companions[package.name]
        ours = package.name in COMPANIONS
        label = f"{package.name} {version}"
        if package.name not in mismatched and expected is not None and _series(version) != _series(expected):
            yield Finding(
                Ailment.COMPANION_MISMATCH,
                f"{label} does not belong to {torch.label}: {package.name} {expected} does",
                {"package": label, "expected": expected, "torch": torch.version},
                advice=None if ours else f"install {package.name} {expected}",
                by_torch=ours,
            )
        if is_for_another(package.name, version, torch.backend):
            means = "" if torch.version.endswith(f"+{torch.backend}") else f" (a {torch.backend} build)"
            yield Finding(
                Ailment.COMPANION_OTHER_CUDA,
                f"{label} is installed beside {torch.label}{means}",
                {"package": label, "torch": torch.version, "backend": torch.backend},
                advice=None if ours else f"install {package.name} from the same index as torch",
                by_torch=ours,
            )


def _series(version: str) -> list[str]:
    """Major and minor: patch releases of a companion belong to more than one torch."""
    return version.partition("+")[0].split(".")[:2]


def is_for_another(name: str, version: str, backend: str) -> bool:
    """Whether a companion's local label says that it was built for another CUDA. Within one major they go together.

    torchvision compares majors alone from 0.16 on (torchvision/extension.py of 0.15.2 and 0.16.2 read).
    """
    label = version.partition("+")[2]
    if label == backend or not label.startswith(("cu", "cpu", "rocm", "xpu")):
        return False
    series = ".".join(_series(version))
    strict = name == "torchvision" and is_dotted(series) and numbers(series) < (0, 16)
    return strict or _kind(label) != _kind(backend)


def _kind(label: str) -> str:
    """`cu128` and `cu126` → `cu12`: torchvision refuses another CUDA major, and loads within one."""
    head = label.split(".", maxsplit=1)[0]
    return head[:-1] if family_of(head) == "cuda" else head


def numpy(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    torch, package = subject.torch, subject.environment.find("numpy")
    if torch is None or package is None or not is_dotted(torch.release) or not package.version.startswith("2."):
        return
    why = "torch supports NumPy 2 from 2.3 on" if numbers(torch.release) < _NUMPY_2 else ""
    for build in subject.table.of(subject.machine.platform.name).builds(torch.release):
        # What lies on a vendor's index has the names of what is released: it is known by its code.
        is_vendors = build.vendor is not None and (build.backend, build.arches) == (torch.backend, torch.arches)
        if is_vendors and build.vendor is not None and "numpy<2" in build.vendor.needs:
            why = f"{build.vendor.vendor}'s build of it needs numpy<2"
    if why:
        yield Finding(
            Ailment.NUMPY_TOO_NEW,
            f"numpy {package.version} is installed beside {torch.label}, and {why}",
            {"numpy": package.version, "torch": torch.version},
            by_torch=True,
            needs="numpy<2",
        )
