"""What is published of the envelope that every command prints, and where an answer is not like that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ENVELOPE: Mapping[str, Any] = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text("utf-8"))


def faults(answer: Any, schema: Mapping[str, Any] = ENVELOPE) -> list[str]:
    """Where it is not as the schema says."""
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(answer)]
