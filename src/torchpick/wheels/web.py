"""The one HTTP client: limits, the environment's proxies and certificates, the user's netrc, words for failures."""

from __future__ import annotations

import os
import re
from netrc import NetrcParseError
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx

from torchpick import __version__
from torchpick.errors import NetworkError

HINT = "check the connection and try again"
# Statuses that often pass by themselves.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_PAUSE = 30.0
_USER = re.compile(r"(?<=//)[^/@\s]*@")


def client() -> httpx.Client:
    """A client for one command; close it."""
    return httpx.Client(
        timeout=httpx.Timeout(30.0, connect=15.0),
        follow_redirects=True,
        auth=_netrc(),
        headers={"user-agent": f"torchpick/{__version__}"},
        limits=httpx.Limits(max_connections=4),
    )


def _netrc() -> httpx.Auth | None:
    """The user's netrc, as pip reads it; one that cannot be parsed is as good as none."""
    named = os.environ.get("NETRC")
    try:
        paths = [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
        path = next((path for path in paths if path.is_file()), None)
        return None if path is None else httpx.NetRCAuth(str(path))
    except (OSError, RuntimeError, ValueError, NetrcParseError):
        return None


def redacted(url: str) -> str:
    """The URL without credentials, nor the query and fragment that may carry them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _USER.sub("", url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def words(error: Exception) -> str:
    """A foreign failure in a person's words."""
    if isinstance(error, httpx.ConnectTimeout):
        return "the server did not answer in time"
    if isinstance(error, httpx.TimeoutException):
        return "the server stopped sending"
    if isinstance(error, httpx.TooManyRedirects):
        return "the server redirects in a circle"
    if isinstance(error, httpx.ConnectError):
        return f"cannot reach the server ({error})"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return "is not a web address that can be read"
    return _USER.sub("", str(error)) or "the connection broke off"


def failure(name: str, error: Exception) -> NetworkError:
    return NetworkError(f"{name}: {words(error)}", hint=HINT)


def refusal(name: str, status: int) -> NetworkError:
    """An HTTP status as an error with the next thing to do."""
    if status in (401, 407):
        hint = "put the credentials in netrc or the URL"
    elif status in (403, 404, 410):
        hint = "check the address: the wheel host answers 403 for what it does not have"
    elif status == 429:
        hint = "the server wants fewer requests: wait a while"
    else:
        hint = HINT
    return NetworkError(f"{name}: the server answered {status}", hint=hint)


def retry_after(header: str | None, otherwise: float) -> float:
    """The seconds that a server asks to wait, within reason; a date is not worth a parser."""
    if header is None or not header.isascii() or not header.isdigit() or len(header) > 6:
        return otherwise
    return min(float(header), _LONGEST_PAUSE)
