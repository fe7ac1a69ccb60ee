"""The pages of the wheel host or its mirror: the files of torch's family, the one that suits, and the hash of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from functools import cache, cached_property
from urllib.parse import urlsplit

from torchpick.environment.world import opened
from torchpick.errors import InstallerError, UsageError, WheelError
from torchpick.index import pages
from torchpick.index.listing import Link
from torchpick.index.user_index import IndexTarget, fitting
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

_CHUNK = 1 << 20
_TRITON = re.compile(r"Requires-Dist:\s*((?:pytorch-)?triton(?:-rocm|-xpu)?) *\(?([^;)\n]*)", re.IGNORECASE)


class Host:
    """Pages of one index, each read once; close it. A flat one is a single page for every project."""

    def __init__(self, index: str, *, flat: bool = False, offline: bool = False) -> None:
        self._index, self._flat, self._offline = index, flat, offline
        self._stack = ExitStack()
        self._refused: dict[str, list[str]] = {}
        self._once = cache(self._read)

    def close(self) -> None:
        self._stack.close()

    @cached_property
    def _client(self) -> Client:
        from torchpick.index.client import Client

        return self._stack.enter_context(Client())

    def links(self, name: str) -> tuple[Link, ...]:
        """The wheels of a project there."""
        listed = self._once(self._page(name))
        return tuple(link for link in listed or () if link.wheel.project == name)

    def refused(self, name: str) -> tuple[str, ...]:
        """What is wrong with the links of its page that were passed over."""
        return tuple(self._refused.get(self._page(name), ()))

    def notes(self) -> list[Note]:
        """What was passed over on the pages that were read."""
        return [
            Note("LINK_REFUSED", f"{redacted(page)}: {some_of(texts, 1, '; ')}, so that file is passed over")
            for page, texts in self._refused.items()
            if texts
        ]

    def _page(self, name: str) -> str:
        return self._index if self._flat else f"{self._index}/{name}/"

    def _read(self, page: str) -> tuple[Link, ...] | None:
        refused = self._refused.setdefault(page, []).append
        if page.startswith("file:"):  # a page in it, its wheels, or those of the backend's folder above
            return pages.folder(page, refused) or pages.folder(self._index, refused)
        if self._offline:
            raise UsageError(
                f"a lock needs {redacted(page)}, and `--offline` forbids it",
                hint="remove `--offline`, or use a folder with the wheels: `--index-base file:///…`",
            )
        return pages.fetch(page, self._client, refused)

    def tritons(self, wheel: str) -> Mapping[str, str]:
        """The triton that a torch wheel requires and its specifier, from the metadata file beside the wheel."""
        text = pages.content(f"{wheel.partition('#')[0]}.metadata", self._client).decode("utf-8", "replace")
        return {match[1].lower(): match[2].strip() for match in _TRITON.finditer(text)}


def sha256_of(url: str) -> str:
    """The hash of a file on this computer."""
    path, digest = pages.local(url), hashlib.sha256()
    try:
        with opened(str(path)) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise WheelError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    return digest.hexdigest()


class Shown(Noun):
    """A URL as a lock may hold it: without fragment and credentials, and whether there were any."""

    url: str
    had_credentials: bool


def shown(url: str) -> Shown:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return Shown(parts._replace(netloc=host, fragment="").geturl(), host != parts.netloc)


def best(name: str, specifier: str, mine: Collection[Link], page: str, target: IndexTarget) -> Link:
    """The newest wheel of a project that suits; the page is only named."""
    found = fitting(mine, specifier, target)
    if not found:
        versions = sorted({link.wheel.version for link in fitting(mine, "", target)})[-5:]
        there = f"it has {', '.join(versions) or 'none'} for this Python" if mine else "no file of it is listed there"
        hint = f"`--index-base URL` names a mirror, `torchpick refresh` reads what the index has; or leave {name} out"
        raise InstallerError(
            f"{redacted(page)} has no {name}{specifier} that fits: {there}", hint=hint, code="NOT_ON_PAGE"
        )
    return found[0]
