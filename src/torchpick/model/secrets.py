"""What a secret looks like in a URL or a text, and how it is hidden. Pure; `redaction` decides whether to load it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN = "****"
# What a URL cannot hold, so where one ends within a text.
_END = re.compile(r"[\s\"<>]")
# Yet a password that nobody quoted may hold one of them.
_USER = re.compile(r"[^\s/?#@:]*:[^\s/?#]*@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*$")
_AUTHORITY_END = re.compile(r"[/?#]")
# A host with its port; a name without a dot may as well be a user whose password begins with digits.
_HOST = re.compile(r"^(?:[\w-]+(?:\.[\w-]+)+|localhost|\[[\da-fA-F:.]+\])(?::\d{1,5})?$")
# Tokens that describe themselves by their beginning, as their makers document it: GitLab, GitHub, PyPI, Hugging Face,
# npm, AWS, Slack, Docker, DigitalOcean, Artifactory, JSON Web Tokens.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:gl[a-z]{1,6}-|gh[a-z]_|github_pat_|pypi-|hf_|npm_|A[KS]IA|xox[a-z]-|dckr_[a-z]+_|do[a-z]_v1_|sk-"
    r"|AKC|cmVm|eyJ)[A-Za-z0-9_.=-]{8,}"
)
# Hosts that take their token as the first part of the path.
_PATH_TOKEN = re.compile(r"^((?:[\w-]+\.)*(?:cloudsmith\.io|fury\.io|gemfury\.com)(?::\d+)?/)(?!public/|basic/)[^/]+")
_HEADER = re.compile(
    r"\b(basic|bearer)(\s+)(?=[A-Za-z0-9+/_.~-]*\d|[A-Za-z0-9+/_.~-]*=)[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE
)
_NAMED = re.compile(
    r"\b((?:\w*[_-])?(?:password|passwd|token|secret|api[_-]?key|credentials?)\s*=\s*)[^\s&;,\"']+", re.IGNORECASE
)
# A variable of the environment as a log prints it.
_VARIABLE = re.compile(r"\b([A-Z0-9_]*(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY)[A-Z0-9_]{0,40}\s*:\s*)[^\s,;&]+")
# `user:password@host` without a scheme, as proxies are often written.
_BARE = re.compile(r"(?<![\w/@:.%+-])([\w.%+-]+):([^\s/\"'<>]+)@(?=[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:[/\s,;'\")]|$))")
# What GitHub wants behind a token.
_NO_PASSWORD = "x-oauth-basic"  # noqa: S105 # a fixed word
# Fragments that say which file it is, and hold no secret.
_FRAGMENT = re.compile(r"#(?:(?:sha\d+|md5|egg|subdirectory)=[\w.+/\[\],-]*&?)+$")


def hidden(text: str) -> str:
    """The text with the passwords and tokens in it hidden; a user's name stays where a password stands beside it."""
    if "://" in text:
        text = _urls(text)
    elif ":" in text and "@" in text:
        text = _BARE.sub(rf"\1:{HIDDEN}@", text)
    for mark, pattern, replacement in _PATTERNS:
        if mark(text):
            text = pattern.sub(replacement, text)
    return text


def _any(*marks: str) -> Callable[[str], bool]:
    return lambda text: any(mark in text.lower() for mark in marks)


_PATTERNS: tuple[tuple[Callable[[str], bool], re.Pattern[str], str], ...] = (
    (_any("basic", "bearer"), _HEADER, rf"\1\2{HIDDEN}"),
    (_any("="), _NAMED, rf"\1{HIDDEN}"),
    (_any(":"), _VARIABLE, rf"\1{HIDDEN}"),
    (lambda text: len(text) > 10, _TOKEN, HIDDEN),
)


def _urls(text: str) -> str:
    """The text with each URL in it redacted; it is split where URLs begin, so a list between commas is read too."""
    head, *rest = text.split("://")
    found = [_BARE.sub(rf"\1:{HIDDEN}@", head)]
    for place, part in enumerate(rest):
        user = _USER.match(part)
        end = _END.search(part, 0 if user is None else user.end())
        stop = len(part) if end is None else end.start()
        if end is None and place + 1 < len(rest) and (scheme := _SCHEME.search(part)) is not None:
            stop = scheme.start()  # the next URL's scheme
        found.append(_url(part[:stop]) + _BARE.sub(rf"\1:{HIDDEN}@", part[stop:]))
    return "://".join(found)


def _url(rest: str) -> str:
    """What stands behind a URL's `://`."""
    end = _AUTHORITY_END.search(rest)
    authority = rest if end is None else rest[: end.start()]
    user, _, host = authority.rpartition("@")
    if "@" in rest[len(authority) :] and ":" in authority and not _HOST.match(host):
        user, _, rest = rest.rpartition("@")  # a password with a slash in it
    elif "@" in authority:
        rest = rest[len(user) + 1 :]
    else:
        user = ""
    rest = _PATH_TOKEN.sub(rf"\1{HIDDEN}", rest)
    path, mark, query = rest.partition("?")
    if mark:
        _, hash_, fragment = query.partition("#")
        rest = f"{path}?{HIDDEN}{hash_}{fragment}" if query else rest
    before, hash_, fragment = rest.partition("#")
    if hash_ and fragment and not _FRAGMENT.match(f"#{fragment}"):
        rest = f"{before}#{HIDDEN}"
    return f"{_name(user)}@{rest}" if user else rest


def _name(user: str) -> str:
    """The user's name where it is one, and never the password."""
    name, colon, password = user.partition(":")
    is_name = colon and password and name and len(name) < 20 and not _TOKEN.match(name)
    is_name = is_name and password != _NO_PASSWORD
    return f"{name}:{HIDDEN}" if is_name else HIDDEN
