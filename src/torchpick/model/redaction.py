"""The one redactor: URLs and free text without the secrets a user may have put into them. Pure."""

from __future__ import annotations

from torchpick.model.versions import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

HIDDEN = "****"
# Shorter than any token that can be recognized by its looks.
_SHORT = 11

# What stands before an `@`, behind two slashes or, as in `https:/user:password@host`, behind a colon and one. A
# password in which a slash was not escaped is none to pip and uv either, and their refusal is shown.
# One with blanks or quotes in it stands behind a user without a dot, which is no host's name.
_LOGIN = (
    r"(//|:/)(?:([^\s/?#\"<>:@]{1,19}:)(?!\d{1,5}(?:[/?#]|$))(?:(?!://)[^\s\"<>]){1,250}"
    r"|([^\s/?#\"<>:@.]{1,19}:)(?!\d{1,5}\b)[^/?#@\n]{1,250}|[^\s/?#\"<>]+)@"
)
# `user:password@host` without a scheme, as proxies are often written.
_BARE = r"(?<![\w/@:.%+-])([\w.%+-]+:)[^\s/\"<>]+@(?=[\w-])"
_WORD = r"[^\s\"<>]+"
# Hosts that take their token as the first part of the path.
_IN_PATH = r"(//(?:[\w-]+\.)*(?:cloudsmith\.io|fury\.io|gemfury\.com)/)(?!public/|basic/)[^/\s]+"
# Tokens that describe themselves by their beginning, as their makers document it: GitLab, GitHub, PyPI, Hugging Face,
# npm, AWS, Slack, Docker, DigitalOcean, Artifactory, JSON Web Tokens.
_SELF_NAMED = (
    r"(?<![A-Za-z0-9])(?:gl[a-z]{1,6}-|gh[a-z]_|github_pat_|pypi-|hf_|npm_|A[KS]IA|xox[a-z]-|dckr_[a-z]+_|do[a-z]_v1_|sk-"
    r"|AKC|cmVm|eyJ)[A-Za-z0-9_.=-]{8,}"
)
_HEADER = r"(?i)\b((?:basic|bearer)\s+)(?=[\w+/.~-]*[\d=])[\w+/.~=-]{11,}"
_NAMED = r"(?i)((?:password|passwd|token|secret|api[_-]?key|credentials?)\s*=\s*)[^\s&;,\"']+"


def redacted(text: str) -> str:
    """The text with the passwords and tokens in it hidden; a user's name stays where a password stands beside it."""
    words = text.split()
    if not any(mark in text for mark in "@?=") and all(len(word) < _SHORT or word.isalpha() for word in words):
        return text  # without the patterns, whose making costs a start some milliseconds
    text = pattern(_LOGIN).sub(lambda login: f"{login[1]}{login[2] or login[3] or ''}{HIDDEN}@", text)
    text = pattern(_BARE).sub(rf"\1{HIDDEN}@", text)
    text = pattern(_WORD).sub(_without_query, text)
    for named in (_IN_PATH, _HEADER, _NAMED):
        text = pattern(named).sub(rf"\1{HIDDEN}", text)
    return pattern(_SELF_NAMED).sub(HIDDEN, text)


def _without_query(word: re.Match[str]) -> str:
    address, mark, rest = word[0].partition("?")
    if "://" not in address or not rest:
        return word[0]
    return f"{address}{mark}{HIDDEN}{''.join(rest.partition('#')[1:])}"


def holds_secret(text: str) -> bool:
    """Whether the redactor finds something to hide in it."""
    return redacted(text) != text


def public(url: str) -> str:
    """The URL as anybody may read it and still use it: without a login, which pip can take from elsewhere."""
    return redacted(pattern(r"//[^/?#]*@").sub("//", url))


def redacted_json(value: object) -> object:
    """The same for every text in a JSON value, keys aside."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: redacted_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(part) for part in value]
    return value
