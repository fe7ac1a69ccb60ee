"""Print the JSON Schema of what every command prints under --json.

examples:
  torchpick schema > torchpick.schema.json
  torchpick --json | check-jsonschema --schemafile torchpick.schema.json -
"""

from __future__ import annotations

import json
from argparse import ArgumentParser

from torchpick.cli.arguments import Asked
from torchpick.model import contract


def add_arguments(parser: ArgumentParser) -> None:
    """Nothing to ask."""


def run(args: Asked) -> int:  # noqa: ARG001 # it takes none
    print(json.dumps(contract.schema(), indent=2))
    return 0
