"""Take out of an environment what `torchpick pin` wrote: its files are then what they were, byte for byte.

Where somebody has changed a file since, that change stays and only ours goes.

examples:
  torchpick unpin
  torchpick unpin --python .venv/bin/python
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import pinning, question, shipped
from torchpick.cli.arguments import Asked
from torchpick.cli.pin import chosen
from torchpick.emit.text import plain
from torchpick.errors import UsageError
from torchpick.model import envelope
from torchpick.request import Request


class Unpin(Asked):
    project: str | None
    no_project: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--python", metavar="PATH", help="the environment's interpreter (the active one, or .venv)")
    parser.add_argument("--project", metavar="FILE", help="a pyproject.toml that was pinned")
    parser.add_argument("--no-project", action="store_true", help="leave every pyproject.toml alone")
    parser.add_argument("--json", action="store_true", help="the same facts as one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(args: Unpin) -> int:
    project = chosen(args.project, no_project=args.no_project)
    request = Request(gpus=("none",), python=args.python)
    python = question.machine_of(request, os.environ, shipped.rules(os.environ)).python
    if python.executable is None:
        raise UsageError("no environment is named or found", hint="name its interpreter with `--python PATH`")
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(python.executable)))
    touched = pinning.unpin(prefix, project)
    if args.json:
        print(envelope.dumps(envelope.new("unpin", files=list(touched))))
        return 0
    for file in touched:
        print(plain(file))
    if not touched and not args.quiet:
        print(f"note: nothing was pinned in {plain(prefix)}", file=sys.stderr)
    return 0
