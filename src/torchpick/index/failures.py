"""What can go wrong between a server and us: which errors are temporary, how they are worded, and broken gzip."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from torchpick.errors import NetworkError

HINT = "check the connection and try again"
# Statuses that often pass by themselves.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# S3 answers 403 for what is not there, so it says no more than 404 does.
ABSENT = frozenset({403, 404, 410})
_CHUNK = 1 << 18


class BrokenOffError(NetworkError):
    """The connection ended early: another attempt may work."""


class TooSlowError(NetworkError):
    """A deadline has passed; the server is not asked again."""


def gunzipped(name: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes inflated, in pieces of bounded size; members may follow one another."""
    inflater = zlib.decompressobj(31)
    come = False
    for chunk in chunks:
        data = chunk
        while data:
            try:
                out = inflater.decompress(data, _CHUNK)
            except zlib.error as error:
                raise NetworkError(f"{name}: what the server sent is not gzip", hint=HINT) from error
            come = True
            if out:
                yield out
            data = inflater.unconsumed_tail
            if inflater.eof:
                data = inflater.unused_data
                inflater = zlib.decompressobj(31)
                come = False
    while come and (out := inflater.decompress(inflater.unconsumed_tail, _CHUNK)):
        yield out
    if come and not inflater.eof:
        raise BrokenOffError(f"{name}: the server stopped in the middle", hint=HINT)


def refusal(name: str, status: int) -> NetworkError:
    """An HTTP status as an error with the next thing to do."""
    if status in (401, 407):
        hint = "put the credentials in netrc or the URL"
    elif status in ABSENT:
        hint = "check the address: the wheel host answers 403 for files it does not have"
    elif status == 429:
        hint = "the server limits requests: wait a while"
    else:
        hint = HINT
    return NetworkError(f"{name}: the server answered {status}", hint=hint)


def retry_after(header: str | None, otherwise: float, longest: float) -> float:
    """The seconds that a server asks to wait, within reason; a date is not worth a parser."""
    if header is None or not header.isascii() or not header.isdigit() or len(header) > 6:
        return otherwise
    return min(float(header), longest)
