"""One process at a time: the lock of an open file, which the system lets go when the process that holds it dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torchpick.errors import TorchpickError

_POLL = 0.05
_BEYOND = 1 << 30  # behind the end of every file: who reads the file is not kept from it


def wait(handle: int, busy: str, most: float, waiting: Callable[[], None] | None = None) -> None:
    """Take the lock of an open file or folder; `busy` says in words who has it when that takes too long."""
    began = time.monotonic()
    while not take(handle):
        if waiting is not None:
            waiting()
            waiting = None
        if time.monotonic() - began > most:
            raise TorchpickError(f"{busy} for {most:.0f} seconds", hint="wait for it, or stop it")
        time.sleep(_POLL)


@contextmanager
def of_environment(prefix: str, most: float = 60.0) -> Iterator[None]:
    """Alone in an environment, which gets no file by it; an environment that cannot be opened has nothing to guard."""
    place = os.path.join(prefix, "pyvenv.cfg") if sys.platform == "win32" else prefix
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        wait(handle, f"another torchpick is changing {prefix}", most)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def take(handle: int) -> bool:
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: each file is still replaced in one step
            return True
        return True
