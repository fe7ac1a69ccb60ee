"""Whether there is one whole torch, and a Python for it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.doctor.facts import Facts
from torchpick.model.finding import NOTE, Ailment, Finding
from torchpick.model.requirement import first_three

# What conda calls torch and its libraries.
_CONDA = ("pytorch", "libtorch", "pytorch-gpu", "pytorch-cpu")


def interpreter(facts: Facts) -> Iterator[Finding]:
    """The environment's Python is gone, or is one that no wheel was made for."""
    here = facts.environment
    if here.gone:
        yield Finding(
            Ailment.PYTHON_GONE,
            f"{here.prefix}: {here.gone}",
            {"prefix": here.prefix, "why": here.gone},
            advice="create the environment again, and reinstall what is wanted in it",
        )
    if facts.unwheeled and facts.torch is None:
        yield Finding(
            Ailment.NO_WHEEL_FOR_PYTHON,
            facts.unwheeled,
            {"python": facts.machine.python.tag, "platform": facts.machine.platform.name},
            advice="create an environment with a Python that has wheels: `torchpick list` names them",
        )


def missing(facts: Facts) -> Iterator[Finding]:
    here = facts.environment
    if facts.torch is None and here.find("torch") is None and facts.torch_is_wanted:
        yield Finding(
            Ailment.TORCH_MISSING,
            f"torch is not installed for {here.executable or here.prefix}",
            {"python": here.executable, "searched": list(here.sites)},
            by_torch=True,
        )


def broken(facts: Facts) -> Iterator[Finding]:
    """Installed by its metadata, and not there; or there without some of its files."""
    here, torch = facts.environment, facts.torch
    recorded = here.find("torch")
    if torch is None and recorded is not None:
        yield Finding(
            Ailment.TORCH_BROKEN,
            f"{recorded.label} is recorded as installed, and torch/version.py is not there",
            {"folder": recorded.folder, "version": recorded.version},
            by_torch=True,
        )
    elif torch is not None and torch.missing:
        yield Finding(
            Ailment.TORCH_BROKEN,
            f"{torch.label} lacks {first_three(torch.missing)}",
            {"folder": torch.folder, "missing": list(torch.missing[:50])},
            by_torch=True,
        )


def twice(facts: Facts) -> Iterator[Finding]:
    """Two torches on the search path, two records in one folder, or conda's and pip's."""
    here = facts.environment
    places = [*here.torches]
    if len(places) > 1:
        yield Finding(
            Ailment.TORCH_TWICE,
            f"torch is in {len(places)} folders of the search path; {places[0]} comes first",
            {"folders": places},
            advice=f"remove the others: `{here.program} -m pip uninstall torch` with each of their Pythons",
        )
    records = [each for each in here.distributions if each.name == "torch"]
    for folder in dict.fromkeys(each.folder for each in records):
        versions = [each.version for each in records if each.folder == folder]
        if len(versions) > 1:
            yield Finding(
                Ailment.TORCH_TWICE,
                f"{folder} has records of torch {' and '.join(versions)}",
                {"folder": folder, "versions": versions},
                advice=f"`{here.program} -m pip uninstall torch` until none is left, then install one",
            )
    conda = [each for each in here.conda if each.name in _CONDA]
    if conda and records and records[0].installer in ("pip", "uv"):
        yield Finding(
            Ailment.TORCH_TWICE,
            f"conda installed {conda[0].name} {conda[0].version}, and {records[0].installer} put torch "
            f"{records[0].version} over it",
            {"conda": [f"{each.name} {each.version} {each.build}" for each in conda], "torch": records[0].version},
            advice=f"keep one: `conda remove {' '.join(each.name for each in conda)}`, then install torch again",
        )


def unreadable(facts: Facts) -> Iterator[Finding]:
    """Folders that cannot be read, and metadata that is broken where it matters."""
    here = facts.environment
    for fault in here.faults:
        yield Finding(Ailment.UNREADABLE, f"{fault.where} {fault.what}", {"where": fault.where, "what": fault.what})
    if facts.torch is not None and here.find("torch") is None:
        yield Finding(
            Ailment.UNREADABLE,
            f"{facts.torch.label} in {facts.torch.folder} has no metadata, so no installer knows of it",
            {"where": facts.torch.folder, "what": "no metadata"},
            advice="remove the folder before another torch is installed",
        )
    for one in here.distributions:
        # conda and Debian leave out RECORD on purpose.
        by_pip = not here.conda and "dist-packages" not in one.folder
        faults = [fault for fault in one.faults if by_pip or not fault.startswith("RECORD")]
        if faults:
            ours = one.name in ("torch", "torchvision", "torchaudio", "triton") or one.name.startswith("nvidia-")
            yield Finding(
                Ailment.UNREADABLE,
                f"{one.info}: {', '.join(faults)}",
                {"where": f"{one.folder}/{one.info}", "what": ", ".join(faults)},
                advice=f"install {one.name} again with `--force-reinstall`" if ours else None,
                weight=None if ours else NOTE,
            )
