"""Addresses (RFC 3986) that may stand in a requirement, an argument, a variable or a page for pip and uv. Pure."""

from __future__ import annotations

from torchpick.model.versions import remembered

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
        return Address(f"{self.partition('#')[0]}#{digest}") if digest else self


def check_characters(text: str) -> None:
    """Raise a ValueError that names the first character that no address may hold."""
    if not text.isprintable() or " " in text:
        bad = next(char for char in text if char == " " or not char.isprintable())
        raise ValueError(f"it has {'a blank' if bad == ' ' else f'U+{ord(bad):04X}'} in it")


def is_sha256(text: str) -> bool:
    return len(text) == 64 and _HEX.issuperset(text)


def _authority(rest: str) -> tuple[str, str]:
    """Two slashes with the user and the host behind them, and what follows."""
    if not rest.startswith("//"):
        return "", rest
    end = rest.find("/", 2)
    end = len(rest) if end < 0 else end
    query = rest.find("?", 2, end)
    end = end if query < 0 else query
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
        import unicodedata

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
