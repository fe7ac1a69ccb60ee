"""What the user asks for, beside the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchpick.model.noun import Noun
from torchpick.model.versions import is_prerelease

WHEEL_HOST = "https://download.pytorch.org/whl"
CHANNELS = ("stable", "nightly", "test")

Admits = Callable[[str], bool]


class Wish(Noun):
    """`torch` and the values of `companions` are version specifiers, empty for any; `backends` empty is our choice.

    `others` are requirements of the torch family that no companion table pins, such as torchcodec.
    """

    torch: str = ""
    companions: Mapping[str, str] = {}
    others: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    channel: str = "stable"
    index_base: str = WHEEL_HOST
    allow_cpu: bool = False
    allow_unconfirmed: bool = False
    whole: bool = False


def admits(specifier: str, *, prereleases: bool = False) -> Admits:
    """A test for versions; raises ValueError where the text is no specifier. Pre-releases only if it names one."""
    if not specifier:
        return (lambda _: True) if prereleases else (lambda version: not is_prerelease(version))
    # 29 ms of import that a question without a specifier never pays.
    from packaging.specifiers import SpecifierSet

    allowed = SpecifierSet(specifier)
    wanted = True if prereleases else None
    memory: dict[str, bool] = {}

    def asks(version: str) -> bool:
        # Without a local label in the specifier the label of the version does not matter (PEP 440).
        key = version if "+" in specifier else version.partition("+")[0]
        if key not in memory:
            memory[key] = allowed.contains(key, prereleases=wanted)
        return memory[key]

    return asks
