"""A whole file from a server that does not support ranges: only when allowed, and up to a size."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from torchpick.errors import IntegrityError, NetworkError, WheelError
from torchpick.index.client import Client
from torchpick.index.failures import refusal
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report


class Allowed(Noun):
    """How large the file may be, and which hash it must have."""

    most: int
    sha256: str | None = None


def download(url: str, client: Client, stack: ExitStack, allowed: Allowed, report: Report) -> Path:
    """Fetch the file into a temporary folder that lives as long as the stack."""
    most, sha256 = allowed
    name = redacted(url)
    too_large = WheelError(
        f"{name} is larger than the {most >> 20} MB that are allowed", hint="download it yourself and inspect the file"
    )
    path = Path(stack.enter_context(TemporaryDirectory(prefix="torchpick-")), "wheel")
    cost = 0
    digest = hashlib.sha256()
    reply = client.open(url)
    try:
        if reply.status != 200:
            raise refusal(name, reply.status)
        length = reply.headers.get("content-length", "")
        if length.isdigit() and (len(length) > 15 or int(length) > most):
            raise too_large
        with path.open("wb") as file:
            for chunk in reply.chunks:
                cost += len(chunk)
                if cost > most:
                    raise too_large
                report(len(chunk))
                file.write(chunk)
                digest.update(chunk)
    except OSError as error:
        raise NetworkError(f"cannot keep {name}: {error.strerror}", hint="make room in the temporary folder") from error
    finally:
        reply.close()
    if length.isdigit() and cost != int(length):
        raise NetworkError(f"{name}: the server sent {cost} bytes of {length}", hint="run the command again")
    if sha256 is not None and digest.hexdigest() != sha256:
        raise IntegrityError(f"{name} is not the file that the index lists", hint="run the command again")
    return path
