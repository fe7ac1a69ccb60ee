"""The request in the user's own words: every value as it was given, nothing checked yet."""

from __future__ import annotations

from torchpick.model.noun import Noun


class Request(Noun):
    """One field for each flag of the contract; `gpus` empty-handed (None) means that none was specified."""

    requirements: tuple[str, ...] = ()
    gpus: tuple[str, ...] | None = None
    driver: str | None = None
    cuda_driver: str | None = None
    platform: str | None = None
    glibc: str | None = None
    macos: str | None = None
    python: str | None = None
    machine: tuple[str, ...] | None = None
    strict: bool = False
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

    @property
    def flags(self) -> tuple[str, ...]:
        """The request as `torchpick install` takes it, without its requirements."""
        words: list[str] = []
        for flag, values in (("--gpu", self.gpus), ("--machine", self.machine), ("--backend", self.backends)):
            words += [word for value in values or () for word in (flag, value)]
        for flag, value in (
            ("--driver", self.driver),
            ("--cuda-driver", self.cuda_driver),
            ("--platform", self.platform),
            ("--glibc", self.glibc),
            ("--macos", self.macos),
            ("--python", self.python),
            ("--gpus", "visible" if self.visible_only else None),
            ("--only", self.only),
            ("--index-base", self.index_base),
            ("--channel", None if self.channel == "stable" else self.channel),
        ):
            if value is not None:
                words += [flag, value]
        for flag, there in (
            ("--cpu", self.cpu),
            ("--allow-cpu", self.allow_cpu),
            ("--allow-unconfirmed", self.allow_unconfirmed),
            ("--whole", self.whole),
            ("--trust-pci", self.trust_pci),
            ("--offline", self.offline),
        ):
            if there:
                words.append(flag)
        return tuple(words)
