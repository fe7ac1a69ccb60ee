"""Show every build weighed, best first, each with its verdict.

examples:
  torchpick list                                 this machine
  torchpick list --gpu "GTX 1080 Ti" | less      another one
  torchpick list --all --gpu sm_61               also builds for other hardware and other platforms
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import table, text
from torchpick.model import envelope


class List(Asked):
    all: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="also builds for other hardware, other platforms, and the default index's own",
    )
    arguments.add_decision_flags(parser)


def run(args: List) -> int:
    pick = question.answer(arguments.request_of(args), decide=False, tell=console.waiting)
    console.tell(pick, args)
    if args.all:
        pick = pick._replace(considered=(*pick.considered, *question.rest(pick, os.environ)))
    if args.json:
        print(envelope.dumps(envelope.of_pick(pick, "list")))
        return 0 if pick.ok else 3
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    shown = pick.considered if args.all else table.shortlist(pick)
    print(table.builds(pick, shown, console.width(), bold, text.cut_mark(sys.stdout.encoding)))
    if not args.quiet:
        for line in text.notes(pick):
            print(line, file=sys.stderr)
    left = len(pick.considered) - len(shown)
    if left and not args.quiet:
        print(
            f"note: {left} builds for other hardware or outside the request are left out; `--all` adds them",
            file=sys.stderr,
        )
    return 0 if pick.ok else 3
