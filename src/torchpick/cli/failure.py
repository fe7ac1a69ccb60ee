"""How an error reaches the person or the program."""

from __future__ import annotations

import sys

from torchpick.emit import text
from torchpick.errors import TorchpickError
from torchpick.model import envelope


def tell(error: TorchpickError, command: str, *, as_json: bool, guard: str | None) -> int:
    """Print the error in the form that was asked for and return its exit status.

    `guard` is what stdout gets where an empty one would be taken for an answer.
    """
    if as_json:
        print(envelope.dumps(envelope.of_error(error, command)))
        return error.exit_status
    if guard is not None:
        print(guard)
    sys.stdout.flush()
    print(text.error(error), file=sys.stderr)
    return error.exit_status
