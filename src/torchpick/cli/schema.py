"""Print the JSON Schema of what every command prints under --json.

examples:
  torchpick schema > torchpick.schema.json
  torchpick --json | check-jsonschema --schemafile torchpick.schema.json -
"""

from __future__ import annotations

import json
from argparse import ArgumentParser

from torchpick.cli.arguments import Arguments
from torchpick.model import schema


def add_arguments(parser: ArgumentParser) -> None:
    """No flags."""


def run(args: Arguments) -> int:  # noqa: ARG001 # it takes none
    print(json.dumps(schema.schema(), indent=2))
    return 0
