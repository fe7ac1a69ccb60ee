"""The bytes of a requirements file on another computer, bounded in size and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchpick.errors import UsageError
from torchpick.model.redaction import redacted


def fetcher(environ: Mapping[str, str], *, offline: bool) -> Callable[[str], bytes]:
    """What `requirements.read` takes to read such a file; it raises where the network may not be used."""

    def fetch(url: str) -> bytes:
        if offline:
            raise UsageError(f"{redacted(url)} is not on this computer, and `--offline` is given", hint="download it")
        from torchpick.index.client import Client

        with Client(environ=environ) as client:
            document = client.get(url)
        if document.status != 200:
            raise UsageError(f"{redacted(url)} cannot be read: status {document.status}", hint="check the address")
        return document.body

    return fetch
