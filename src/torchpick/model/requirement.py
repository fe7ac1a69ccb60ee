"""A requirement as packaging reads it, and the name of a project in its canonical form (PEP 503)."""

from __future__ import annotations

from torchpick.model.versions import check_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from packaging.requirements import Requirement


def normal(name: str) -> str:
    """The name as indexes spell it."""
    plain = name.lower().replace("_", "-").replace(".", "-")
    while "--" in plain:
        plain = plain.replace("--", "-")
    return plain


def leading(text: str) -> str:
    """The name that a requirement begins with; empty where it begins with none."""
    end = 0
    for place, letter in enumerate(text):
        if letter.isascii() and letter.isalnum():
            end = place + 1
        elif not end or letter not in "._-":
            break
    return text[:end]


def first_three(names: Sequence[str]) -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def parsed(text: str) -> Requirement:
    """The requirement; a ValueError says why the text is none."""
    from packaging.requirements import Requirement

    check_digits(text)
    return Requirement(text)
