"""Whether everything is there that an import needs, once, and of a version that goes with torch. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from torchpick.doctor.facts import Facts
from torchpick.model.build import COMPANIONS
from torchpick.model.finding import WARNING, Ailment, Finding
from torchpick.model.requirement import first_three
from torchpick.model.versions import is_dotted, numbers

# `import torch` does without these (torch 2.9.1: triton for torch.compile, the others for export, hub and saving).
_SPARE = frozenset({"triton", "pytorch-triton", "filelock", "fsspec", "jinja2", "networkx"})
_MOST_SHOWN = 20
# The first release that was compiled against NumPy 2 (its release notes).
_NUMPY_2 = (2, 3)


def required(facts: Facts) -> Iterator[Finding]:
    """Packages that torch or a companion requires, and that are not installed; named together."""
    by_package: dict[str, list[str]] = {}
    for missing in facts.required:
        by_package.setdefault(missing.package, []).append(missing.requirement)
    names = {missing.requirement: missing.name for missing in facts.required}
    for package, requirements in by_package.items():
        spare = all(names[requirement] in _SPARE for requirement in requirements)
        by_cuda = all(names[requirement].startswith(("nvidia-", "cuda-")) for requirement in requirements)
        # An image may bring CUDA by other means than wheels, and the loader finds it.
        elsewhere = by_cuda and facts.cuda_is_found
        # What CUDA consists of first: without it nothing loads.
        ordered = sorted(requirements, key=lambda line: not line.startswith(("nvidia-", "cuda-")))
        shown = ", ".join(ordered[:_MOST_SHOWN])
        shown += f" and {len(ordered) - _MOST_SHOWN} more" if len(ordered) > _MOST_SHOWN else ""
        yield Finding(
            Ailment.REQUIREMENT_MISSING,
            f"{package} requires {shown}, and {'they are' if len(requirements) > 1 else 'it is'} not installed",
            {"package": package, "missing": requirements},
            advice="its CUDA libraries are found elsewhere on this machine" if elsewhere else None,
            by_torch=True,
            weight=WARNING if spare or elsewhere else None,
        )


def gone(facts: Facts) -> Iterator[Finding]:
    """Files that were installed and are not there any more; torch's own are `checks.torch.broken`."""
    for package in facts.gone:
        if package.name == "torch":
            continue
        ours = package.name in COMPANIONS
        yield Finding(
            Ailment.FILES_MISSING,
            f"{package.label} lacks {first_three(package.paths)}",
            {"package": package.label, "missing": list(package.paths)},
            cure=None if ours else reinstall(facts, package.label),
            by_torch=ours,
        )


def numpy(facts: Facts) -> Iterator[Finding]:
    torch, one = facts.torch, facts.environment.find("numpy")
    if torch is None or one is None or not is_dotted(torch.release) or not one.version.startswith("2."):
        return
    if numbers(torch.release)[:2] < _NUMPY_2:
        yield Finding(
            Ailment.NUMPY_TOO_NEW,
            f"numpy {one.version} is installed beside {torch.label}, and torch supports NumPy 2 from 2.3 on",
            {"numpy": one.version, "torch": torch.version},
            by_torch=True,
            needs="numpy<2",
        )


def twice(facts: Facts) -> Iterator[Finding]:
    """Two projects with one module: whichever was installed last, the other's files are under it."""
    for pair in facts.rivals:
        keep, drop = (pair.one, pair.other) if "gpu" in pair.one or "gpu" not in pair.other else (pair.other, pair.one)
        wins = f"; the files of {pair.winner} are there now" if pair.winner else ""
        names = [label.partition(" ")[0] for label in (keep, drop)]
        yield Finding(
            Ailment.MODULE_TWICE,
            f"{pair.one} and {pair.other} install the same module{wins}",
            {"packages": [pair.one, pair.other], "winner": pair.winner},
            cure=f"{pip(facts, 'uninstall', *names)} && {pip(facts, 'install', keep.replace(' ', '=='))}",
            advice=f"to uninstall one alone would take files of {names[0]} away",
        )


def reinstall(facts: Facts, label: str) -> str:
    """The command that brings the files of one installed version back."""
    again = "--force-reinstall" if has_pip(facts) else "--reinstall"
    return pip(facts, "install", again, "--no-deps", label.replace(" ", "=="))


def pip(facts: Facts, verb: str, *words: str) -> str:
    """A command of the environment's own pip; of uv where there is none."""
    python = facts.environment.program
    if not has_pip(facts):
        return shlex.join(["uv", "pip", verb, "--python", python, *words])
    yes = ["-y"] if verb == "uninstall" else []
    return shlex.join([python, "-m", "pip", verb, *yes, *words])


def has_pip(facts: Facts) -> bool:
    return facts.environment.find("pip") is not None
