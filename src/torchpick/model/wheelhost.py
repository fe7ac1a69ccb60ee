"""Which URLs are of the wheel host: PyTorch's own, or the mirror that stands for it. Pure."""

from __future__ import annotations

WHEEL_HOST = "https://download.pytorch.org/whl"
_NAMES = ("download.pytorch.org", "download-r2.pytorch.org")
# What a URL loses wherever it is read as uv and browsers read it (WHATWG).
_BLANKS = "".join(map(chr, range(33)))
_DROPPED = {ord(blank): None for blank in "\t\r\n"}
_PORTS = {"https": ":443", "http": ":80"}


def is_wheel_host(url: str, base: str = WHEEL_HOST) -> bool:
    """Whether the URL is on PyTorch's own host, or below `base`, which stands for it; a path alone says nothing.

    Read as uv reads URLs, which makes the host's name of more spellings than pip does. `NAME=URL` is uv's too.
    """
    place = _place(url)
    if place is None:
        return False
    if _host(place[1]) in _NAMES:
        return True
    mirror = _place(base)
    return mirror is not None and place[:2] == mirror[:2] and f"{place[2]}/".startswith(f"{mirror[2]}/")


def is_on_host_of(url: str, index: str) -> bool:
    """Whether a file is on the host of an index, whatever its path; PyTorch's own has two names."""
    one, other = _place(url), _place(index)
    if one is None or other is None:
        return False
    same = one[1] == other[1] != "" or (_host(one[1]) in _NAMES and _host(other[1]) in _NAMES)
    return same and one[0] == other[0]


def _place(url: str) -> tuple[str, str, str] | None:
    """The scheme, the host with its port, and the path without its last slashes; None for what is not a URL."""
    text = url.strip(_BLANKS).translate(_DROPPED)
    name, _, rest = text.partition("=")
    if name.replace("-", "").replace("_", "").replace(".", "").isalnum() and name.isascii():
        text = rest
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower().removeprefix("flat+")
    if not colon or not scheme.isascii() or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None
    # Any number of slashes, of either kind, stands for two.
    rest = rest.partition("?")[0].partition("#")[0].replace("\\", "/").lstrip("/")
    authority, _, path = rest.partition("/")
    host = _plain(authority.rpartition("@")[2])
    return scheme, host.removesuffix(_PORTS.get(scheme, "")), _unquoted(path).rstrip("/")


def _host(authority: str) -> str:
    return authority.partition(":")[0].rstrip(".")


def _plain(host: str) -> str:
    """A host with the case, the width and the escapes of its letters taken away."""
    host = _unquoted(host)
    if not host.isascii():
        import unicodedata

        host = unicodedata.normalize("NFKC", host).replace("\u3002", ".").replace("\u00ad", "")
    return host.lower()


def _unquoted(text: str) -> str:
    """Without its percent escapes; urllib.parse costs `url` some milliseconds and is nothing for the core."""
    first, *others = text.split("%")
    if not others:
        return text
    found = first.encode("utf-8", "surrogateescape")
    for part in others:
        try:
            found += bytes.fromhex(part[:2]) + part[2:].encode("utf-8", "surrogateescape")
        except ValueError:
            found += b"%" + part.encode("utf-8", "surrogateescape")
    return found.decode("utf-8", "replace")
