"""A whole file from a server that cannot send parts of it: only when allowed, and up to a size."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from torchpick.errors import IntegrityError, NetworkError, WheelError
from torchpick.wheels import web
from torchpick.wheels.source import CHUNK, Tell


class Allowed(NamedTuple):
    """How large the file may be, and which hash it must have."""

    most: int
    sha256: str | None = None


def download(url: str, client: httpx.Client, stack: ExitStack, allowed: Allowed, tell: Tell | None) -> Path:
    """Fetch the file into a temporary folder that lives as long as the stack."""
    most, sha256 = allowed
    name = web.redacted(url)
    too_large = WheelError(
        f"{name} is larger than the {most >> 20} MB that are allowed", hint="raise it: `--allow-full 8000` (in MB)"
    )
    path = Path(stack.enter_context(TemporaryDirectory(prefix="torchpick-")), "wheel")
    cost = 0
    digest = hashlib.sha256()
    try:
        with client.stream("GET", url, headers={"accept-encoding": "identity"}) as response, path.open("wb") as file:
            if response.status_code != 200:
                raise web.refusal(name, response.status_code)
            length = response.headers.get("content-length", "")
            if length.isdigit() and int(length) > most:
                raise too_large
            for chunk in response.iter_raw(CHUNK):
                cost += len(chunk)
                if cost > most:
                    raise too_large
                if tell is not None:
                    tell(len(chunk))
                file.write(chunk)
                digest.update(chunk)
    except httpx.HTTPError as error:
        raise web.failure(name, error) from error
    except OSError as error:
        raise NetworkError(f"cannot keep {name}: {error.strerror}", hint="make room in the temporary folder") from error
    if sha256 is not None and digest.hexdigest() != sha256:
        raise IntegrityError(f"{name} is not the file that the index promised", hint="run the command again")
    return path
