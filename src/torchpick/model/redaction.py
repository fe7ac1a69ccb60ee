"""The one redactor: URLs and free text without the secrets a user may have put into them. Pure."""

from __future__ import annotations

from torchpick.model.versions import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

HIDDEN = "****"
# Shorter than any token that can be recognized by its looks.
_SHORT = 11
_MARKS = "@?#="

# What a URL cannot hold, so where one ends within a text.
_END = r"[\s\"<>]"
# Yet a password that nobody quoted may hold one of them; where a blank is in it, the user is no host's name.
_USER = r"[^\s/?#@:]*:[^\s/?#]*@|[^\s/?#@:.]+:[^/?#@\"'<>,\n]*@"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*$"
# A host with its port; a name without a dot may as well be a user whose password begins with digits.
_HOST = r"^(?:[\w-]+(?:\.[\w-]+)+|localhost|\[[\da-fA-F:.]+\])(?::\d{1,5})?$"
# Tokens that describe themselves by their beginning, as their makers document it: GitLab, GitHub, PyPI, Hugging Face,
# npm, AWS, Slack, Docker, DigitalOcean, Artifactory, JSON Web Tokens.
_SELF_NAMED = (
    r"(?<![A-Za-z0-9])(?:gl[a-z]{1,6}-|gh[a-z]_|github_pat_|pypi-|hf_|npm_|A[KS]IA|xox[a-z]-|dckr_[a-z]+_|do[a-z]_v1_|sk-"
    r"|AKC|cmVm|eyJ)[A-Za-z0-9_.=-]{8,}"
)
# Hosts that take their token as the first part of the path.
_IN_PATH = r"^((?:[\w-]+\.)*(?:cloudsmith\.io|fury\.io|gemfury\.com)(?::\d+)?/)(?!public/|basic/)[^/]+"
_HEADER = r"(?i)\b(basic|bearer)(\s+)(?=[A-Za-z0-9+/_.~-]*\d|[A-Za-z0-9+/_.~-]*=)[A-Za-z0-9+/_.~=-]{8,}"
_NAMED = r"(?i)\b((?:\w*[_-])?(?:password|passwd|token|secret|api[_-]?key|credentials?)\s*=\s*)[^\s&;,\"']+"
# A variable of the environment as a log prints it.
_VARIABLE = r"\b([A-Z0-9_]*(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY)[A-Z0-9_]{0,40}\s*:\s*)[^\s,;&]+"
# `user:password@host` without a scheme, as proxies are often written.
_BARE = r"(?<![\w/@:.%+-])([\w.%+-]+):([^\s/\"'<>]+)@(?=[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:[/\s,;'\")]|$))"
# A URL with a typo before its login: `https:/user:password@host`, `https//…`, `//…`.
_MISTYPED = r"(?i)(\b(?:https?|ftps?|git|ssh|svn|file):/(?!/)|(?<![:/])//)([^/@\"'<>\n]+)@"
# What GitHub wants behind a token.
_NO_PASSWORD = "x-oauth-basic"  # noqa: S105 # a fixed word
# Fragments that say which file it is, and hold no secret.
_FRAGMENT = r"#(?:(?:sha\d+|md5|egg|subdirectory)=[\w.+/\[\],-]*&?)+$"


def redacted(text: str) -> str:
    """The text with the passwords and tokens in it hidden; a user's name stays where a password stands beside it."""
    if _is_plain(text):
        return text  # without the patterns, whose making costs a start some milliseconds
    if "://" in text:
        text = _urls(text)
    elif ":" in text and "@" in text:
        text = _bare(text)
    if "/" in text and "@" in text:
        text = _pattern(_MISTYPED).sub(lambda match: f"{match[1]}{_name(match[2])}@", text)
    lower = text.lower()
    if "basic" in lower or "bearer" in lower:
        text = _pattern(_HEADER).sub(rf"\1\2{HIDDEN}", text)
    if "=" in text:
        text = _pattern(_NAMED).sub(rf"\1{HIDDEN}", text)
    if ":" in text:
        text = _pattern(_VARIABLE).sub(rf"\1{HIDDEN}", text)
    return _pattern(_SELF_NAMED).sub(HIDDEN, text)


def holds_secret(text: str) -> bool:
    """Whether the redactor finds something to hide in it."""
    return redacted(text) != text


def public(url: str) -> str:
    """The URL as anybody may read it and still use it: without a login, which pip can take from elsewhere."""
    scheme, mark, rest = url.partition("://")
    end = _authority_end(rest)
    return redacted(f"{scheme}{mark}{rest[:end].rpartition('@')[2]}{rest[end:]}" if mark else url)


def redacted_json(value: object) -> object:
    """The same for every text in a JSON value, keys aside."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: redacted_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(part) for part in value]
    return value


def _is_plain(text: str) -> bool:
    """Whether nothing in it can be a secret: none of the marks before one, and no word that is long enough."""
    if any(mark in text for mark in _MARKS):
        return False
    words = text.replace("/", " ").replace(":", " ").split()
    return all(len(word) < _SHORT or _is_name(word) for word in words) and not _has_header(text)


def _is_name(word: str) -> bool:
    """Letters with dots, as a host has: no token is without a digit, a hyphen or an underscore."""
    return word.replace(".", "").isalpha() and word.islower()


def _has_header(text: str) -> bool:
    lower = text.lower()
    return "basic " in lower or "bearer " in lower or ": " in text


@remembered
def _pattern(text: str) -> re.Pattern[str]:
    import re

    return re.compile(text)


def _bare(text: str) -> str:
    return _pattern(_BARE).sub(rf"\1:{HIDDEN}@", text)


def _urls(text: str) -> str:
    """The text with each URL in it redacted; it is split where URLs begin, so a list between commas is read too."""
    head, *rest = text.split("://")
    shown = [_bare(head)]
    for place, part in enumerate(rest):
        user = _pattern(_USER).match(part)
        end = _pattern(_END).search(part, 0 if user is None else user.end())
        stop = len(part) if end is None else end.start()
        if end is None and place + 1 < len(rest) and (scheme := _pattern(_SCHEME).search(part)) is not None:
            stop = scheme.start()  # the next URL's scheme
        shown.append(_url(part[:stop]) + _bare(part[stop:]))
    return "://".join(shown)


def _authority_end(rest: str) -> int:
    return min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))


def _url(rest: str) -> str:
    """What stands behind a URL's `://`."""
    authority = rest[: _authority_end(rest)]
    user, _, host = authority.rpartition("@")
    if "@" in rest[len(authority) :] and ":" in authority and not _pattern(_HOST).match(host):
        user, _, rest = rest.rpartition("@")  # a password with a slash in it
    elif "@" in authority:
        rest = rest[len(user) + 1 :]
    else:
        user = ""
    rest = _pattern(_IN_PATH).sub(rf"\1{HIDDEN}", rest)
    path, mark, query = rest.partition("?")
    if mark:
        _, hash_, fragment = query.partition("#")
        rest = f"{path}?{HIDDEN}{hash_}{fragment}" if query else rest
    before, hash_, fragment = rest.partition("#")
    if hash_ and fragment and not _pattern(_FRAGMENT).match(f"#{fragment}"):
        rest = f"{before}#{HIDDEN}"
    return f"{_name(user)}@{rest}" if user else rest


def _name(user: str) -> str:
    """The user's name where it is one, and never the password."""
    name, colon, password = user.partition(":")
    is_name = colon and password and name and len(name) < 20 and not _pattern(_SELF_NAMED).match(name)
    is_name = is_name and password != _NO_PASSWORD
    return f"{name}:{HIDDEN}" if is_name else HIDDEN
