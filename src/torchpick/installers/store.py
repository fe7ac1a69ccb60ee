"""The files that an installer is given: named by their content, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from torchpick.environment import rewrite
from torchpick.environment.toolsettings import store_in
from torchpick.environment.world import is_yours, start_of
from torchpick.errors import InstallerError
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import holds_secret


class StoredFile(Noun):
    """A file and what is in it. A private one may hold what a user wrote, passwords too."""

    path: str
    content: str
    private: bool = False


def folder(cache: str) -> str:
    """Where files are kept: the cache, or a folder of the user's own among the temporary ones where it is read-only."""
    place = store_in(cache)
    try:
        os.makedirs(place, exist_ok=True)
        if os.access(place, os.W_OK) and is_private(cache):
            return place
    except OSError:
        pass
    import tempfile

    place = os.path.join(tempfile.gettempdir(), f"torchpick-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    with suppress(OSError):
        os.makedirs(place, mode=0o700, exist_ok=True)
    # In a folder that everybody can write to, somebody else may have been there first.
    if os.path.islink(place) or not os.path.isdir(place) or not is_yours(place):
        hint = "set a folder with TORCHPICK_CACHE_DIR"
        raise InstallerError(f"neither {cache} nor {place} is yours alone to write", hint=hint, code="NO_CACHE")
    return place


def is_private(cache: str) -> bool:
    """Whether what lies in the cache is what was put there; one that is yet to be made is yours."""
    return all(is_yours(path) for path in (cache, store_in(cache)) if os.path.exists(path))


def notes(cache: str, place: str) -> tuple[Note, ...]:
    """That another place is used, where it is."""
    if is_private(cache):
        return ()
    return (Note("CACHE_IGNORED", f"others may write to {cache}, so {place} is used in its place"),)


def check_private(cache: str) -> None:
    """Refuse a cache in which files must last that others may change."""
    if not is_private(cache):
        hint = "set a folder of your own with TORCHPICK_CACHE_DIR"
        raise InstallerError(
            f"others may write to {cache}, and pip and uv read files there", hint=hint, code="NO_CACHE"
        )


def file(place: str, kind: str, suffix: str, content: str, *, private: bool = False) -> StoredFile:
    """A file named by its content, so that two runs share it and none can change another's.

    One in which the redactor finds a secret is private; `private` says so of what may hold one otherwise.
    """
    from hashlib import sha256

    digest = sha256(content.encode()).hexdigest()[:16]
    return StoredFile(f"{place}/{kind}-{digest}{suffix}", content, private or holds_secret(content))


def record(place: str, *key: str) -> str:
    """The path of a file that is found again by what it is about."""
    from hashlib import sha256

    return os.path.join(place, f"record-{sha256(chr(0).join(key).encode()).hexdigest()[:16]}.json")


def keep(files: Iterable[StoredFile]) -> None:
    """Write what is not there yet; a reader sees the whole file or none."""
    for each in files:
        if not _holds(each):
            mode = 0o600 if each.private else 0o644
            rewrite.put(each.path, each.content, mode, follow=False, hint="set another folder with TORCHPICK_CACHE_DIR")


def _holds(each: StoredFile) -> bool:
    data = each.content.encode()
    return start_of(each.path, len(data) + 1) == data
