"""What the user asks for: the request in the user's own words, nothing checked yet, and the wish that it means."""

from __future__ import annotations

from torchpick.model import NamedTuple
from torchpick.model.address import WHEEL_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CHANNELS = ("stable", "nightly", "test")


class Limit(NamedTuple):
    """A version that something other than the request binds, and the place that says so."""

    name: str
    specifier: str
    where: str

    @property
    def text(self) -> str:
        """`torch<2.13 in limits.txt line 1`."""
        return f"{self.name}{self.specifier} in {self.where}"


class Wish(NamedTuple):
    """`torch` and the values of `companions` are version specifiers, empty for any; no `backends` means any.

    `others` are requirements of the torch family that no companion table pins, such as torchcodec; `limits` what
    constraints files and settings say.
    """

    torch: str = ""
    companions: Mapping[str, str] = {}
    others: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    backends: tuple[str, ...] = ()
    channel: str = "stable"
    index_base: str = WHEEL_HOST
    allow_cpu: bool = False
    allow_unconfirmed: bool = False
    whole: bool = False


# Facts of a machine whose flags have their names.
FACTS = ("driver", "cuda_driver", "platform", "glibc", "macos", "python")
# What of a request describes the machine; what two requests share here is looked up once for both.
MACHINE_FIELDS = ("gpus", *FACTS, "machine", "visible_only", "only", "trust_pci")


def flag_of(name: str) -> str:
    """`cuda_driver` → `--cuda-driver`."""
    return "--" + name.replace("_", "-")


class Request(NamedTuple):
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
        given = {
            **self._asdict(),
            "gpus": "visible" if self.visible_only else None,
            "channel": None if self.channel == "stable" else self.channel,
        }
        for name in (*FACTS, "gpus", "only", "index_base", "channel"):
            if given[name] is not None:
                words += [flag_of(name), given[name]]
        for name in ("cpu", "allow_cpu", "allow_unconfirmed", "whole", "trust_pci", "offline"):
            if given[name]:
                words.append(flag_of(name))
        return tuple(words)
