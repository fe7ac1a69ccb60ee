"""The library's door: the same question and answer as the command's, as values and exceptions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from torchpick.model.finding import Finding
from torchpick.model.machine import Machine
from torchpick.model.verdict import Pick


def detect(
    *,
    python: str | None = None,
    visible_only: bool = False,
    trust_pci: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """This machine, each fact with its source. Its `trouble` says why a GPU that is there gives no answer."""
    from torchpick import question, shipped
    from torchpick.request import Request

    known = os.environ if environ is None else environ
    request = Request(python=python, visible_only=visible_only, trust_pci=trust_pci)
    return question.machine_of(request, known, shipped.rules(known))


def pick(  # noqa: PLR0913 # the flags of the contract, by name
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    torch: str = "",
    companions: Mapping[str, str] | None = None,
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    whole: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Pick:
    """The build that runs on this machine, or on the one that is told; NoBuildError carries the answer where none does.

    `gpus` takes what `--gpu` takes, an empty list for no GPU; `torch` and the values of `companions` are specifiers.
    """
    from torchpick import question
    from torchpick.request import Request

    request = Request(
        requirements=(f"torch{torch}", *(f"{name}{text}" for name, text in (companions or {}).items())),
        gpus=None if gpus is None else (tuple(gpus) or ("none",)),
        driver=driver,
        cuda_driver=cuda_driver,
        platform=platform,
        glibc=glibc,
        python=python,
        backends=tuple(backends),
        channel=channel,
        allow_cpu=allow_cpu,
        allow_unconfirmed=allow_unconfirmed,
        whole=whole,
        index_base=index_base,
    )
    return question.chosen(request, os.environ if environ is None else environ)


def check(
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Finding]:
    """What is wrong with the torch that is installed, for this machine or the one that is told; worst first.

    `python` is an interpreter or an environment's folder, the active one without it. Nothing in it is imported.
    """
    from torchpick.examination import examine
    from torchpick.request import Request

    told = None if gpus is None else (tuple(gpus) or ("none",))
    request = Request(gpus=told, driver=driver, cuda_driver=cuda_driver, python=python)
    return list(examine(request, os.environ if environ is None else environ).findings)
