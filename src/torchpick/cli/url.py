"""Print one line for `pip install $(torchpick url)`: the wheel index and torch's exact build.

The line is closed-world: with --index-url everything comes from the wheel index alone, which holds torch, its
companions and most of what they need, and nothing else. `torchpick install` and `torchpick env` have no such limit.
Where no build runs the line makes pip and uv fail, so that they never fall back to another index. The password of a
mirror is in the line, as pip needs it.

examples:
  pip install $(torchpick url)                        bash, zsh
  pip install (torchpick url | string split ' ')      fish
  pip install (torchpick url).Split()                 PowerShell
  pip install $(torchpick url torchvision) torchvision
  torchpick url --gpu sm_61 --driver 580.95.05 "torch<2.12"
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import pip


class Url(Asked):
    bare: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--bare", action="store_true", help="the URL of the index alone")
    arguments.add_decision_flags(parser)


def guard(words: list[str]) -> str | None:
    """What stdout gets where this command fails: a line that pip and uv refuse."""
    return None if "--bare" in words else pip.NOTHING_RUNS


def run(args: Url) -> int:
    pick = question.chosen(arguments.request_of(args), everything=args.json or args.verbose, tell=console.waiting)
    console.tell(pick, args)
    if args.json:
        from torchpick.model import envelope

        print(envelope.dumps(envelope.of_pick(pick, "url")))
        return 0
    print(pick.index_url if args.bare else pip.line(pick))
    if not args.quiet and (pick.notes or pick.machine.notes):
        from torchpick.emit import text

        print(*text.notes(pick), sep="\n", file=sys.stderr)
    return 0
