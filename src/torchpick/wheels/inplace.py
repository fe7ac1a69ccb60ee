"""One library of an installed package, looked at for one question; None for a file that is missing or not a library."""

from __future__ import annotations

import os
from collections.abc import Callable
from mmap import ACCESS_READ, mmap
from typing import TypeVar

from torchpick.errors import WheelError
from torchpick.wheels import flags, library, linked
from torchpick.wheels.flags import Flags
from torchpick.wheels.library import Library
from torchpick.wheels.linked import Linked

T = TypeVar("T")


def registered(path: str, shown: str) -> Library | None:
    """The GPU code that a loader registers."""
    return _mapped(path, lambda buffer: library.of_buffer(buffer, shown, data=False))


def compiled_flags(path: str) -> Flags | None:
    """The architectures that a libtorch_python names itself."""
    return _mapped(path, flags.of_buffer)


def needs(path: str) -> Linked | None:
    """What it needs from the loader."""
    return _mapped(path, linked.of_buffer)


def _mapped(path: str, look: Callable[[mmap], T]) -> T | None:
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return None
            with mmap(file.fileno(), 0, access=ACCESS_READ) as buffer:
                return look(buffer)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise WheelError(f"cannot read {path}: {error}", hint="check its permissions") from error
