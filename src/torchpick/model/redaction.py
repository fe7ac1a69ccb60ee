"""The one redactor: URLs and free text without the secrets a user may have put into them. Pure."""

from __future__ import annotations

from torchpick.model.versions import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

HIDDEN = "****"
# Shorter than any token that can be recognized by its looks.
_SHORT = 11

# Where the authority of a URL begins, also in `https:/user:password@host`, of which an installer shows its own refusal.
_SLASHES = r":/+|//+"
# The port of a host, and not a password.
_PORT = r"\d{1,5}\b"
# `user:password@host` without a scheme, as proxies are often written, stands in one of these.
_AUTHORITY = r"(?<!/)[^\s\"<>/]+"
_OF_USER = frozenset("_.%+-@")
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
    if "@" in text:
        text = "".join(_without_logins(text))
        text = pattern(_AUTHORITY).sub(_without_password, text)
    text = pattern(_WORD).sub(_without_query, text)
    for named in (_IN_PATH, _HEADER, _NAMED):
        text = pattern(named).sub(rf"\1{HIDDEN}", text)
    return pattern(_SELF_NAMED).sub(HIDDEN, text)


def _without_logins(text: str) -> Iterator[str]:
    """The text without what stands before the `@` of a URL: each character is looked at a bounded number of times.

    A password may hold a slash, a blank or a quotation mark that nobody escaped: it ends at the last `@` of the word,
    or of the line where the word has none.
    """
    done = word_end = line_end = 0
    word_at = line_at = -1
    for slashes in pattern(_SLASHES).finditer(text):
        start = slashes.end()
        if start <= done:
            continue
        if start > line_end or not line_end:
            ends = pattern(r"\n|(?<=.)://").search(text, start)
            line_end = len(text) if ends is None else ends.start()
            line_at = text.rfind("@", start, line_end)
        if start > word_end or not word_end:
            ends = pattern(r"[\s\"<>]").search(text, start, line_end)
            word_end = line_end if ends is None else ends.start()
            word_at = text.rfind("@", start, word_end)
        hidden = _login(text, start, word_at if word_at >= start else -1, line_at if line_at >= start else -1)
        if hidden is not None:
            yield text[done : hidden[0]] + HIDDEN
            done = hidden[1]
    yield text[done:]


def _login(text: str, start: int, word_at: int, line_at: int) -> tuple[int, int] | None:
    """From where to where a login is to be hidden, which begins here; a user's name before a password stays."""
    ends = pattern(r"[/?#\s\"<>]").search(text, start)
    host_end = len(text) if ends is None else ends.start()
    first_at = text.rfind("@", start, host_end)
    user_end = text.find(":", start, host_end)
    end = first_at
    colon = text.find(":", max(first_at, start), host_end)  # behind a user's name, which may be an e-mail address
    if colon >= 0:
        if pattern(_PORT).match(text, colon + 1) is None:
            is_password = text[colon + 1 : colon + 2].strip() != ""
            longer = word_at if word_at > colon else line_at if is_password else -1
        else:
            longer = word_at if first_at < 0 and "." not in text[start:colon] else -1
        if longer > colon:
            end, user_end = longer, colon
    if end < 0:
        return None
    is_user = start < user_end < end and pattern(_SELF_NAMED).match(text, start) is None
    return (user_end + 1 if is_user else start), end


def _without_password(authority: re.Match[str]) -> str:
    word = authority[0]
    at = word.rfind("@")
    if at < 0 or not word[at + 1 :][:1].replace("-", "_").replace("_", "a").isalnum():
        return word
    colon = word.find(":", 0, at)
    while 0 <= colon < at - 1:
        if colon and (word[colon - 1].isalnum() or word[colon - 1] in _OF_USER):
            return f"{word[: colon + 1]}{HIDDEN}{word[at:]}"
        colon = word.find(":", colon + 1, at)
    return word


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
