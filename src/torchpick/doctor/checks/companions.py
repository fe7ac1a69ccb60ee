"""Whether what is compiled against torch was compiled against this one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.doctor.facts import Facts
from torchpick.model.build import COMPANIONS, family_of
from torchpick.model.finding import Ailment, Finding
from torchpick.model.versions import is_dotted, numbers


def mismatch(facts: Facts) -> Iterator[Finding]:
    """A companion of another release: its own requirement says so, else the table of companions does."""
    torch = facts.torch
    if torch is None:
        return
    unmet = {demand.package: demand for demand in facts.demands if demand.name == "torch" and demand.links_torch}
    for package, demand in unmet.items():
        yield Finding(
            Ailment.COMPANION_MISMATCH,
            f"{package} was built for {demand.requirement}, and {torch.label} is installed",
            {"package": package, "requires": demand.requirement, "torch": torch.version},
            advice=None if _name(package) in COMPANIONS else _other(package, torch.release),
            by_torch=_name(package) in COMPANIONS,
        )
    for one in facts.companions:
        said = any(_name(package) == one.name for package in unmet)
        if not said and one.expected is not None and _series(one.version) != _series(one.expected):
            yield Finding(
                Ailment.COMPANION_MISMATCH,
                f"{one.name} {one.version} does not belong to {torch.label}: {one.name} {one.expected} does",
                {"package": f"{one.name} {one.version}", "expected": one.expected, "torch": torch.version},
                by_torch=one.name in COMPANIONS,
                advice=None if one.name in COMPANIONS else f"install {one.name} {one.expected}",
            )


def _other(package: str, release: str) -> str:
    return f"install the release of {_name(package)} that was built for torch {release}, or the torch that it asks for"


def _name(package: str) -> str:
    return package.partition(" ")[0]


def _series(version: str) -> list[str]:
    """Major and minor: patch releases of a companion belong to more than one torch."""
    return version.partition("+")[0].split(".")[:2]


def other_cuda(facts: Facts) -> Iterator[Finding]:
    """A companion's local label says what it was built for. Within one CUDA major they go together.

    torchvision compares majors alone from 0.16 on (torchvision/extension.py of 0.15.2 and 0.16.2 read).
    """
    torch = facts.torch
    if torch is None:
        return
    for one in facts.companions:
        label = one.version.partition("+")[2]
        if not label.startswith(("cu", "cpu", "rocm", "xpu")):
            continue
        series = ".".join(_series(one.version))
        strict = one.name == "torchvision" and is_dotted(series) and numbers(series) < (0, 16)
        if label == torch.backend or (not strict and _kind(label) == _kind(torch.backend)):
            continue
        yield Finding(
            Ailment.COMPANION_OTHER_CUDA,
            f"{one.name} {one.version} is installed beside {torch.label}{_means(torch.backend, torch.version)}",
            {"package": f"{one.name} {one.version}", "torch": torch.version, "backend": torch.backend},
            by_torch=one.name in COMPANIONS,
            advice=None if one.name in COMPANIONS else f"install {one.name} from the same index as torch",
        )


def _kind(label: str) -> str:
    """`cu128` and `cu126` → `cu12`: torchvision refuses another CUDA major, and loads within one."""
    head = label.split(".")[0]
    return head[:-1] if family_of(head) == "cuda" and head[2:].isdigit() and len(head) > 4 else head


def _means(backend: str, version: str) -> str:
    return "" if version.endswith(f"+{backend}") else f" (a {backend} build)"


def demands(facts: Facts) -> Iterator[Finding]:
    """What torch, or a package beside it, requires and does not have at that version."""
    for each in facts.demands:
        if each.name == "torch" and each.links_torch:
            continue
        yield Finding(
            Ailment.REQUIREMENT_UNMET,
            f"{each.package} requires {each.requirement}, and {each.has} is installed",
            {"package": each.package, "requires": each.requirement, "has": each.has},
            advice=f"install {each.requirement}" if each.name != "torch" else None,
        )
