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
_WAIT = 600.0


@contextmanager
def locked(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the folder's lock."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "refresh.lock").open("a+b")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with file:
        rewrite.wait(file.fileno(), f"another refresh has locked {folder}", _WAIT, waiting)
        yield


def write(path: Path, value: object, most: int = _MOST_BYTES) -> None:
    """Put a JSON file in its place in one step: a reader sees the old one or the new one. Not where it is too large."""
    text = json.dumps(value, separators=(",", ":")) + "\n"
    if len(text) > most:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        rewrite.replace(str(path), text.encode(), follow=False)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def read(path: Path) -> object:
    """The content of a file of ours; None if there is none, it cannot be ours, or others may write it."""
    try:
        value: object = json.loads(content(str(path), _MOST_BYTES)) if is_yours(str(path)) else None
    except (OSError, ValueError, RecursionError):
        return None
    return value


def _unwritable(folder: Path, error: OSError) -> TorchpickError:
    return TorchpickError(
        f"cannot write to {folder}: {error.strerror}", hint="set another folder with TORCHPICK_CACHE_DIR"
    )
