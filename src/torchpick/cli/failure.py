"""How an error reaches the person or the program."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torchpick.cli import console
from torchpick.emit import text
from torchpick.errors import DetectionError, NoBuildError, TorchpickError
from torchpick.model import envelope


def tell(error: TorchpickError, command: str, words: Sequence[str], guard: str | None) -> int:
    """Print the error in the form that the words asked for and return its exit status.

    `guard` is what stdout gets where an empty one would be taken for an answer.
    """
    if "--verbose" in words:
        if isinstance(error, NoBuildError):
            console.tell_of(error.pick.machines, error.pick.considered)
        elif isinstance(error, DetectionError) and error.machine is not None:
            console.tell_of((error.machine,), ())
    if "--json" in words:
        print(envelope.dumps(envelope.of_error(error, command)))
        return error.exit_status
    if guard is not None:
        print(guard)
    sys.stdout.flush()
    print(text.error(error), file=sys.stderr)
    return error.exit_status
