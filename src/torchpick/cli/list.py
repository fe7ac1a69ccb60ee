"""Show every build weighed, best first, each with its verdict.

examples:
  torchpick list                                 this machine
  torchpick list --gpu "GTX 1080 Ti" | less      another one
  torchpick list --all --gpu sm_61               other platforms' builds and the default index's own too
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import table
from torchpick.model import envelope


class List(Asked):
    all: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--all", action="store_true", help="also other platforms' builds and the default index's own")
    arguments.add_decision_flags(parser)


def run(args: List) -> int:
    pick = question.answer(arguments.request_of(args))
    if args.all:
        pick = pick._replace(considered=(*pick.considered, *question.rest(pick, os.environ)))
    if args.json:
        print(envelope.dumps(envelope.of_pick(pick, "list")))
        return 0
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    print(table.builds(pick, console.width(), bold))
    return 0
