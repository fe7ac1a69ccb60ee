"""The JSON envelope that every command prints under --json: one object, one line."""

from __future__ import annotations

import json

from torchpick import __version__
from torchpick.errors import TorchpickError

SCHEMA = 1


def new(command: str, *, status: str = "ok", exit_status: int = 0, **facts: object) -> dict[str, object]:
    """The envelope with the keys that are always there, and this command's facts."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "status": status,
        "exit": exit_status,
        **facts,
    }


def of_error(error: TorchpickError, command: str, **facts: object) -> dict[str, object]:
    """An error as an object; `no_answer` for exit 4."""
    status = "no_answer" if error.exit_status == 4 else "error"
    told = {"code": error.code, "text": error.message, "hint": error.hint}
    return new(command, status=status, exit_status=error.exit_status, **facts, error=told)


def dumps(value: dict[str, object]) -> str:
    """One line, fit for a pipe and for `--machine`; ASCII, so no code page can break it."""
    return json.dumps(value, separators=(", ", ": "))
