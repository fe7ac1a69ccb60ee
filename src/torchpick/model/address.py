"""Addresses: what may stand in a requirement for pip and uv (RFC 3986), PyTorch's wheel host, and what is secret."""

from __future__ import annotations

import unicodedata

from torchpick.model.versions import pattern, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


# What stands for itself behind the host. Of the characters that an address may have besides, `$` begins a variable, and
# `'`, `,` and `;` end a value or a requirement somewhere: they are escaped, as pip does in a path, and mean the same.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?@!&()*+=%")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:%[]")
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.")
_HEX = frozenset("0123456789abcdefABCDEF")
# What an address of these leads to without a host is no server.
_WEB = ("http", "https")


class Address(str):
    """An address with nothing in it that ends or continues a line, is expanded, or begins a comment.

    A blank, a control character and a separator of any script are refused with a ValueError, all else that an address
    has no place for is percent-encoded.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Address:  # noqa: PYI034 # Self came with Python 3.11
        check_characters(text)
        front, mark, fragment = text.partition("#")
        scheme, colon, rest = front.partition(":")
        if not colon or not scheme[:1].isalpha() or not _SCHEME.issuperset(scheme):
            raise ValueError("it has no scheme, such as https")
        authority, path = _authority(rest)
        server = _server((scheme, authority))
        return str.__new__(cls, f"{server}{_escaped(path)}{mark}{_escaped(fragment)}")

    def with_hash(self, digest: str | None) -> Address:
        """With this hash of the file, such as `sha256=…`; the same where there is none."""
        return str.__new__(Address, f"{self.partition('#')[0]}#{_escaped(digest)}") if digest else self


def check_characters(text: str) -> None:
    """Raise a ValueError that names the first character that no address may hold."""
    if not text.isprintable() or " " in text:
        bad = next(char for char in text if char == " " or not char.isprintable())
        raise ValueError(f"it has {'a blank' if bad == ' ' else f'U+{ord(bad):04X}'} in it")


def is_sha256(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and _HEX.issuperset(text)


def _authority(rest: str) -> tuple[str, str]:
    """Two slashes with the user and the host behind them, and what follows."""
    if not rest.startswith("//"):
        return "", rest
    end = 2 + len(rest[2:].partition("/")[0].partition("?")[0])
    return rest[:end], rest[end:]


@remembered  # a page leads to thousands of files on one server
def _server(of: tuple[str, str]) -> str:
    """The address as far as its path."""
    scheme, authority = of
    user, at, host = authority.rpartition("@")
    _check_host(scheme, host.removeprefix("//") if not at else host)
    return f"{scheme}:{_escaped(user)}{at}{host}"


def _check_host(scheme: str, host: str) -> None:
    if not host and scheme.lower() in _WEB:
        raise ValueError("it has no host")
    if _HOST.issuperset(host):
        return
    if not host.isascii():
        plain = unicodedata.normalize("NFKC", host)
        if all(char in _HOST or not char.isascii() for char in plain):
            return
    raise ValueError("its host is not valid")


def _escaped(text: str) -> str:
    """The text with escapes for what is not plain; those that it has stay."""
    if not _PLAIN.issuperset(text):
        text = "".join(char if char in _PLAIN else _escape(char) for char in text)
    if "%" not in text:
        return text
    first, *others = text.split("%")
    return first + "".join(f"%{'' if _HEX.issuperset(part[:2]) and part[1:] else '25'}{part}" for part in others)


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


WHEEL_HOST = "https://download.pytorch.org/whl"
_NAMES = ("download.pytorch.org", "download-r2.pytorch.org")
_PORTS = {"https": ":443", "http": ":80"}


def is_wheel_host(url: str, base: str = WHEEL_HOST) -> bool:
    """Whether the URL is on PyTorch's own host, or below `base`, which stands for it; a path alone says nothing.

    `NAME=URL` is uv's way to write one.
    """
    if (place := _place(url)) is None:
        return False
    scheme, host, path = place
    if _host(host) in _NAMES:
        return True
    mirror = _place(base)
    return mirror is not None and (scheme, host) == mirror[:2] and f"{path}/".startswith(f"{mirror[-1]}/")


def is_on_host_of(url: str, index: str) -> bool:
    """Whether a file is on the host of an index, whatever its path; PyTorch's own has two names."""
    if (one := _place(url)) is None or (other := _place(index)) is None:
        return False
    (scheme, host, _), (other_scheme, other_host, _) = one, other
    same = host == other_host != "" or (_host(host) in _NAMES and _host(other_host) in _NAMES)
    return same and scheme == other_scheme


def _place(url: str) -> tuple[str, str, str] | None:
    """The scheme, the host with its port, and the path without its last slashes; None for what is not a URL."""
    name, _, rest = url.strip().partition("=")
    text = rest if name.replace("-", "").replace("_", "").replace(".", "").isalnum() else url.strip()
    scheme, mark, rest = text.partition("://")
    if not mark:
        return None
    scheme, rest = scheme.lower().removeprefix("flat+"), rest.lstrip("/").partition("?")[0].partition("#")[0]
    authority, _, path = rest.partition("/")
    host = authority.rpartition("@")[2].lower().removesuffix(_PORTS.get(scheme, ""))
    if "%" in path:
        from urllib.parse import unquote  # it costs a start some milliseconds

        path = unquote(path)
    return scheme, host, path.rstrip("/")


def _host(authority: str) -> str:
    return authority.partition(":")[0].rstrip(".")


HIDDEN = "****"
# Shorter than any token that can be recognized by its looks.
_SHORT = 11

# Where the authority of a URL begins, also in `https:/user:password@host`, `https:\\user…` and `https:user…`, of which
# an installer shows its own refusal.
_SLASHES = r":/+|//+|:\\{2,}|\b(?:https?|ssh):(?=[^/\s\\])"
_COLON = r":|%3[Aa]"
# The port of a host, and not a password.
_PORT = r"\d{1,5}\b"
# A password that begins as one, and goes on behind a character that no address has.
_PARTED = r"\d{1,5}[\s\"<>][^\s@]{1,256}@"
# `user:password@host` without a scheme, as proxies are often written, stands in one of these.
_AUTHORITY = r"(?<!/)[^\s\"<>/]+"
_OF_USER = frozenset("_.%+-@")
_WORD = r"[^\s\"<>]+"
# Hosts that take their token as the first part of the path.
_IN_PATH = r"(//(?:[\w-]+\.)*(?:cloudsmith\.io|fury\.io|gemfury\.com)/)(?!public/|basic/)[^/\s]+"
# Tokens that describe themselves by their beginning, as their makers document it: GitLab, GitHub, PyPI, Hugging Face,
# npm, AWS, Slack, Docker, DigitalOcean, NVIDIA, Artifactory, JSON Web Tokens.
_SELF_NAMED = (
    r"(?<![A-Za-z0-9])(?:gl[a-z]{1,6}-|gh[a-z]_|github_pat_|pypi-|hf_|npm_|A[KS]IA|xox[a-z]-|dckr_[a-z]+_|do[a-z]_v1_|sk-"
    r"|nvapi-|AKC|cmVm|eyJ)[A-Za-z0-9_.=-]{8,}"
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
            first, last = hidden
            yield text[done:first] + HIDDEN
            done = last
    yield text[done:]


def _login(text: str, start: int, word_at: int, line_at: int) -> tuple[int, int] | None:
    """From where to where a login is to be hidden, which begins here; a user's name before a password stays."""
    ends = pattern(r"[/?#\s\"<>]").search(text, start)
    host_end = len(text) if ends is None else ends.start()
    first_at = text.rfind("@", start, host_end)
    user_end = text.find(":", start, host_end)
    end = first_at
    # Behind a user's name, which may be an e-mail address, and not in a host's number such as [::1].
    host = max(first_at + 1, start)
    number_end = text.find("]", host, host_end) if text[host : host + 1] == "[" else -1
    mark = pattern(_COLON).search(text, max(host, number_end), host_end)
    if mark is not None:
        colon = mark.start()
        if pattern(_PORT).match(text, colon + 1) is None:
            is_password = text[colon + 1 : colon + 2].strip() != ""
            longer = word_at if word_at > colon else line_at if is_password else -1
        elif first_at < 0 and not ("." in text[start:colon] and _HOST.issuperset(text[start:colon])):
            parted = pattern(_PARTED).match(text, colon + 1)
            longer = word_at if parted is None else parted.end() - 1
        else:
            longer = -1
        if longer > colon:
            end, user_end = longer, colon
    if end < 0:
        return None
    is_user = start < user_end < end and pattern(_SELF_NAMED).match(text, start) is None
    return (user_end + 1 if is_user else start), end


def _without_password(authority: re.Match[str]) -> str:
    word = authority[0]
    at = word.rfind("@")
    host = word[at + 1 : at + 2]
    if at < 0 or not (host.isalnum() or host in {"-", "_", "["}):
        return word
    colon = word.find(":", 0, at)
    while 0 <= colon < at - 1:
        if colon and (word[colon - 1].isalnum() or word[colon - 1] in _OF_USER):
            return f"{word[: colon + 1]}{HIDDEN}{word[at:]}"
        colon = word.find(":", colon + 1, at)
    return word


def _without_query(word: re.Match[str]) -> str:
    address, mark, rest = word[0].partition("?")
    if pattern(_SLASHES).search(address) is None or not rest:
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
