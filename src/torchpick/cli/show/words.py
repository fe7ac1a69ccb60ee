"""Facts of a verdict in a person's words, the same in every place."""

from __future__ import annotations

from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build
from torchpick.model.verdict import Verdict


def fit(how: Fit, via: Arch | None) -> str:
    """How one GPU is supported."""
    return {
        Fit.EXACT: f"runs its own machine code, {via}",
        Fit.BINARY: f"runs the machine code of {via}",
        Fit.JIT: f"the driver compiles {via} for it",
        Fit.NONE: "holds no code for it",
    }[how]


def how(verdict: Verdict) -> str:
    """How the GPU with the least support is supported; empty where no GPU counts."""
    worst = min(verdict.fits, key=lambda each: each.fit, default=None)
    return "" if worst is None else fit(worst.fit, worst.via)


def evidence(build: Build) -> str:
    """What the row rests on."""
    if build.evidence.kind == "measured":
        return f"measured, read out of {build.evidence.ref}"
    return "declared by build scripts and lists"
