"""Words and variables in a shell's own quoting, which no path or GPU name can break. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# What a POSIX shell takes as it is.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./")


def sh(word: str) -> str:
    """One word for a POSIX shell."""
    if word and _SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def command(argv: Iterable[str], changed: Mapping[str, str], unset: Iterable[str]) -> str:
    """A command line for a POSIX shell, with the changes to its environment in front."""
    gone = [part for name in unset for part in ("-u", name)]
    front = [*gone, *(f"{name}={value}" for name, value in changed.items())]
    words = ["env", *front, *argv] if front else [*argv]
    return " ".join(map(sh, words))
