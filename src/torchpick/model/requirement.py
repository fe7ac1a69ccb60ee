"""A requirement as packaging reads it. Pure."""

from __future__ import annotations

from torchpick.model.versions import check_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement


def parsed(text: str) -> Requirement:
    """The requirement; a ValueError says why the text is none."""
    from packaging.requirements import Requirement

    check_digits(text)
    return Requirement(text)
