"""How an error is printed, as text or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torchpick.cli import console
from torchpick.cli.show import text
from torchpick.errors import DetectionError, NoBuildError, TorchpickError
from torchpick.model import envelope
from torchpick.model.pick import as_json


def tell(error: TorchpickError, command: str, words: Sequence[str], guard: str | None) -> int:
    """Print the error in the requested form and return its exit status.

    `guard` is what stdout gets if empty output would be taken for a result.
    """
    words = words[: words.index("--")] if "--" in words else words  # what follows is the installer's
    if "--verbose" in words:
        if isinstance(error, NoBuildError):
            console.tell_of(error.pick.machines, error.pick.considered)
        elif isinstance(error, DetectionError) and error.machine is not None:
            console.tell_of((error.machine,), ())
    if "--json" in words:
        print(envelope.dumps(of_error(error, command)))
        return error.exit_status
    if guard is not None:
        print(guard)
    sys.stdout.flush()
    print(text.error(error), file=sys.stderr)
    if isinstance(error, NoBuildError) and "--quiet" not in words:
        console.tell_age(error.pick)
    return error.exit_status


def of_error(error: TorchpickError, command: str, **facts: object) -> dict[str, object]:
    """An error as an object; `no_answer` for exit 4, and the whole answer where no build runs."""
    if isinstance(error, NoBuildError):
        return {**as_json(error.pick, command), **facts, "error": error}
    status = "no_answer" if error.exit_status == 4 else "error"
    if isinstance(error, DetectionError) and error.machine is not None:
        facts.setdefault("machine", error.machine)
    return envelope.new(command, status=status, exit_status=error.exit_status, **facts, error=error)
