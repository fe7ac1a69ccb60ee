"""The user's cache as refresh writes it: whole files or none, one writer at a time, whatever dies in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torchpick.environment import rewrite
from torchpick.environment.world import content, is_yours
from torchpick.errors import TorchpickError

_MOST_BYTES = 64 << 20
WAIT = 600.0
_ANOTHER = "set another folder with TORCHPICK_CACHE_DIR"


@contextmanager
def locked(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the folder's lock."""
    rewrite.folder(str(folder), _ANOTHER)
    try:
        file = (folder / "refresh.lock").open("a+b")
    except OSError as error:
        raise TorchpickError(f"cannot write {folder}: {error.strerror}", hint=_ANOTHER) from error
    with file:
        rewrite.wait(file.fileno(), f"another refresh has locked {folder}", WAIT, waiting)
        yield


def write(path: Path, value: object, most: int = _MOST_BYTES) -> None:
    """Put a JSON file in its place in one step: a reader sees the old one or the new one. Not where it is too large."""
    text = _text(value)
    if len(text) <= most:
        rewrite.folder(str(path.parent), _ANOTHER)
        rewrite.put(str(path), text, follow=False, hint=_ANOTHER)


def keep(path: Path, value: object, most: int) -> None:
    """The same for a private record of which there are many, and which is made anew where it is lost or damaged."""
    text = _text(value)
    if len(text) <= most:
        rewrite.folder(str(path.parent), _ANOTHER)
        rewrite.replace(str(path), text.encode(), 0o600, follow=False, lasting=False)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def read(path: Path) -> object:
    """The content of a file of ours; None if there is none, it cannot be ours, or others may write it."""
    try:
        value: object = json.loads(content(str(path), _MOST_BYTES)) if is_yours(str(path)) else None
    except (OSError, ValueError, RecursionError):
        return None
    return value
