"""Text made fit for a public bug report: no user names, nothing under a home folder, no tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A home of anybody: what follows it is dropped too, up to the end of the path.
_HOMES = re.compile(
    r"(?:/home/|/Users/|(?<![\w.-])/root\b|(?:\b[A-Za-z]:)?\\+(?:Users|Documents and Settings)\\+)[^\s\"'`,;:<>|]*"
)
_CREDENTIALS = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://)[^\s/@\"']{1,300}@")
_QUERY = re.compile(
    r"([?&;#][A-Za-z_.-]{0,40}(?:token|key|secret|password|signature|sig|auth)[A-Za-z_.-]{0,40}=)[^\s&\"']+",
    re.IGNORECASE,
)
# Tokens by their well-known beginnings, and `NAME=value` of a secret's name.
_TOKENS = re.compile(
    r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|pypi-|sk-|xox[abprs]-|AKIA|ASIA|npm_|dckr_pat_|eyJ)[A-Za-z0-9_./+=-]{8,}"
)
_NAMED = re.compile(
    r"\b([A-Za-z0-9_]{0,40}(?:token|passw(?:or)?d|secret|api_?key|credential)[A-Za-z0-9_]{0,40}\s*[=:]\s*)[^\s,;&]+",
    re.IGNORECASE,
)
_HIDDEN = "****"


def scrubbed(text: str, homes: Sequence[str], users: Sequence[str]) -> str:
    """The text without what names a person; `homes` and `users` are those of this computer."""
    for home in homes:
        if len(home.strip("/\\")) > 1:
            text = re.sub(
                re.escape(home.rstrip("/\\")) + r"(?![A-Za-z0-9._-])[^\s\"'`,;:<>|]*", "~", text, flags=re.IGNORECASE
            )
    text = _HOMES.sub("~", text)
    text = _CREDENTIALS.sub(rf"\1{_HIDDEN}@", text)
    text = _QUERY.sub(rf"\1{_HIDDEN}", text)
    text = _TOKENS.sub(_HIDDEN, text)
    text = _NAMED.sub(rf"\1{_HIDDEN}", text)
    for user in users:
        # A name that is also a word of ours would tear the text apart and tell nothing.
        if len(user) > 2 and user.lower() not in _WORDS:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "user", text, flags=re.IGNORECASE)
    return text


_WORDS = frozenset(
    {"root", "user", "torch", "python", "cuda", "nvidia", "admin", "runner", "jovyan", "ubuntu", "linux"}
)
