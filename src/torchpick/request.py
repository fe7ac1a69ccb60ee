"""What was asked, in the user's own words: every value as it was given, none of it checked yet."""

from __future__ import annotations

from torchpick.model.noun import Noun


class Request(Noun):
    """One field for each flag of the contract; `gpus` empty-handed (None) means that nothing was told."""

    requirements: tuple[str, ...] = ()
    gpus: tuple[str, ...] | None = None
    driver: str | None = None
    cuda_driver: str | None = None
    platform: str | None = None
    glibc: str | None = None
    python: str | None = None
    machine: str | None = None
    visible_only: bool = False
    only: str | None = None
    trust_pci: bool = False
    backends: tuple[str, ...] = ()
    channel: str = "stable"
    cpu: bool = False
    allow_cpu: bool = False
    allow_unconfirmed: bool = False
    whole: bool = False
    index_base: str | None = None
    offline: bool = False
