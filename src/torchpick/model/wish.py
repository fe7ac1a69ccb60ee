"""What the user asks for, apart from the machine."""

from __future__ import annotations

from torchpick.model.noun import Noun
from torchpick.model.wheelhost import WHEEL_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CHANNELS = ("stable", "nightly", "test")


class Wish(Noun):
    """`torch` and the values of `companions` are version specifiers, empty for any; no `backends` means any.

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
