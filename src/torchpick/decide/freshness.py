"""Whether the table is too old for the question: one line for a person. Pure; the day comes as an argument."""

from __future__ import annotations

from torchpick.model.pick import Pick
from torchpick.model.versions import is_dotted, release_key

# A release a month and a half after the table was made is likely: torch comes out every two months.
OLD_AFTER_DAYS = 45
_REFRESH = "run `torchpick refresh` to read the live index"


def remark(pick: Pick, today: int) -> str | None:
    """A remark on the table's age, `today` as days since 1970; None if there is nothing to say."""
    if pick.table_date is None:
        return None
    unknown = _unknown_release(pick)
    if unknown is not None:
        return f"the table from {pick.table_date} does not know torch {unknown}; {_REFRESH}"
    age = today - day_of(pick.table_date)
    if age > OLD_AFTER_DAYS:
        return f"the table of builds is from {pick.table_date}, {age} days old; {_REFRESH}"
    return None


def _unknown_release(pick: Pick) -> str | None:
    """A release that is asked for and newer than any in the table."""
    known = max((release_key(each.build.torch)[0] for each in pick.considered), default=())
    for clause in pick.wish.torch.split(","):
        version = clause.strip().lstrip("=~>").strip().removeprefix("v").removesuffix(".*")
        if clause.strip()[:1] in ("=", "~", ">") and is_dotted(version) and release_key(version)[0] > known:
            return version
    return None


def is_day(text: str) -> bool:
    """Whether the text is a date such as 2026-11-22."""
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(part.isascii() and part.isdigit() for part in parts):
        return False
    _, month, day = map(int, parts)
    return 1 <= month <= 12 and 1 <= day <= 31


def day_of(date: str) -> int:
    """The days from 1970-01-01 to a date; the calendar of the C library takes longer to import than to count."""
    year, month, day = map(int, date.split("-"))
    if month <= 2:  # years that begin with March end with the day that leap years add
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
