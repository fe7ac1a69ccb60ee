"""Text made fit for a public bug report: no names of users and hosts, no paths of theirs, no tokens."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence

from torchpick.model.redaction import redacted

# A home of anybody: what follows it is dropped too, up to the end of the path.
_HOMES = re.compile(
    r"(?:/home/|/Users/|(?<![\w.-])/root\b|(?:\b[A-Za-z]:)?\\+(?:Users|Documents and Settings)\\+)[^\s\"'`,;:<>|]*"
)
# The name that stays before a hidden password names a person.
_USER = re.compile(r"(?<=://)[^\s/@:]+:(?=\*{4}@)")
# Folders that a system has, and no user: a path anywhere else (/scratch/NAME, /data/PROJECT) may name somebody.
_SYSTEM = "usr|lib|lib32|lib64|opt|etc|proc|sys|dev|bin|sbin|run|var|snap|nix|nowhere|Library|System"
_PATHS = re.compile(rf"(?:(?<![\w.~/-])|(?<=file://))/(?!/|(?:{_SYSTEM})(?:/|\b))[^\s\"'`,;:<>|)]+")
_WINDOWS = re.compile(
    r"\b[A-Za-z]:\\+(?!Windows\b|Program Files|ProgramData\b)[^\s\"'`,;<>|)]*|\\\\[^\s\"'`,;<>|)]+", re.IGNORECASE
)
# A host of a URL that is not one of the makers' own tells where somebody works.
_HOSTS = re.compile(
    r"(?<=://)(?P<user>[^\s/@]*@)?(?!(?:[\w-]+\.)*(?:pytorch|github|nvidia|amd|intel|uv|astral)\.(?:org|com|sh)\b)"
    r"[^\s/\"'`,;<>|)?#]+"
)


def people(machine: str | None) -> tuple[list[str], list[str]]:
    """The homes, and the names of users and hosts, of this computer."""
    homes = [path for path in (os.path.expanduser("~"), os.environ.get("HOME"), os.environ.get("USERPROFILE")) if path]
    host = platform.node()
    names = [os.environ.get(variable) for variable in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    names += [*(os.path.basename(home.rstrip("/\\")) for home in homes), host, host.partition(".")[0], machine]
    return homes, [name for name in names if name]


def scrubbed(text: str, homes: Sequence[str], users: Sequence[str], places: Mapping[str, str] | None = None) -> str:
    """The text without what names a person or a place.

    `homes` and `users` (and hosts) are those of this computer; `places` are folders with the words that stand for them.
    """
    for place, word in sorted((places or {}).items(), key=lambda pair: -len(pair[0])):
        if len(place.strip("/\\")) > 1:
            text = re.sub(re.escape(place.rstrip("/\\")) + r"(?![A-Za-z0-9._-])", word, text)
    for home in homes:
        if len(home.strip("/\\")) > 1:
            text = re.sub(
                re.escape(home.rstrip("/\\")) + r"(?![A-Za-z0-9._-])[^\s\"'`,;:<>|]*", "~", text, flags=re.IGNORECASE
            )
    text = _HOMES.sub("~", text)
    text = _USER.sub("", redacted(text))
    text = _HOSTS.sub(lambda match: (match["user"] or "") + "HOST", text)
    text = _WINDOWS.sub("PATH", _PATHS.sub("PATH", text))
    for user in users:
        # A name that is also a word of ours would tear the text apart and tell nothing.
        if len(user) > 2 and user.lower() not in _WORDS:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "user", text, flags=re.IGNORECASE)
    return text


_WORDS = frozenset(
    {"root", "user", "torch", "python", "cuda", "nvidia", "admin", "runner", "jovyan", "ubuntu", "linux"}
)
