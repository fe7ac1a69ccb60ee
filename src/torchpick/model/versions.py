"""Version numbers, as far as drivers, CUDA and PyTorch releases use them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

# More than any table asks of one question; after that many it is all looked up again.
_MOST = 4096
_RELEASE = r"(\d+(?:\.\d+)*)(?:(a|b|rc|\.dev|\.post)(\d+))?(?:\+.*)?"
_PHASES = {".dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, ".post": 1}


class _Remembered(dict):  # type: ignore[type-arg]  # a type variable is not defined where a program runs
    """Answers by question; a new question is looked up. Indexing it takes no step in Python, as with lru_cache."""

    def __init__(self, look: Callable[[Any], Any]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, of: object) -> object:
        if len(self) >= _MOST:
            self.clear()
        answer = self[of] = self._look(of)
        return answer


def remembered(look: Callable[[K], V]) -> Callable[[K], V]:
    """What functools.lru_cache is for, without the eight files that functools loads."""
    return _Remembered(look).__getitem__


@remembered
def numbers(text: str) -> tuple[int, ...]:
    """`580.95.05` → (580, 95, 5); raises ValueError if a part is not a number."""
    return tuple(int(part) for part in text.split("."))


def is_dotted(text: str) -> bool:
    """Whether the text is plain numbers between dots, at most six of at most nine digits."""
    parts = text.split(".")
    plain = text.isascii() and "".join(parts).isdigit() and "" not in parts
    return plain and len(parts) <= 6 and max(map(len, parts)) <= 9


# Python reads numbers of up to 4,300 digits, and packaging reads them late: where it compares.
_MOST_DIGITS = 1000


def check_digits(text: str) -> None:
    """Raise ValueError where a number is longer than any that is meant."""
    import re

    if re.search(rf"\d{{{_MOST_DIGITS + 1}}}", text):
        raise ValueError(f"a number in it has more than {_MOST_DIGITS} digits")


# The digits without trailing zeros, the phase, the number within the phase.
Release = tuple[tuple[int, ...], int, int]


@remembered  # a table names some fifty releases five times each
def release_key(text: str) -> Release:
    """The order of releases (PEP 440, as far as torch uses it): 2.10.0.dev1 < 2.10.0rc1 < 2.10.0 < 2.10.0.post1."""
    plain = text.partition("+")[0]
    release, phase, number = plain, None, None
    if not is_dotted(plain):  # only then is a pattern worth its compilation
        import re

        match = re.fullmatch(_RELEASE, text, re.ASCII)
        if match is None:
            raise ValueError(text)
        release, phase, number = match.groups()
    digits = numbers(release)
    while len(digits) > 1 and digits[-1] == 0:
        digits = digits[:-1]
    return digits, _PHASES[phase], int(number or 0)


def is_prerelease(text: str) -> bool:
    return release_key(text)[1] < 0


def span(versions: Sequence[str]) -> str:
    """`12.6`, or `12.6 to 13.2`: the first and the last of them."""
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def major_minor(text: str) -> str:
    """`12.6.3` → `12.6`."""
    return ".".join(text.split(".")[:2])
