"""The JSON envelope that every command prints under --json: one object, one line."""

from __future__ import annotations

import json

from torchpick.model.about import VERSION
from torchpick.model.fields import plain
from torchpick.model.redaction import redacted_json

SCHEMA = 1


def new(command: str, *, status: str = "ok", exit_status: int = 0, **facts: object) -> dict[str, object]:
    """The envelope with the keys that are always there, and this command's facts."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "command": command,
        "status": status,
        "exit": exit_status,
        **facts,
    }


def dumps(value: dict[str, object]) -> str:
    """One line with the nouns in it as JSON, for a pipe and for `--machine`: without secrets, and in ASCII alone."""
    return json.dumps(redacted_json(plain(value)), separators=(", ", ": "))
