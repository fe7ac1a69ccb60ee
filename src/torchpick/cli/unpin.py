"""Take out of an environment or a script what `torchpick pin` wrote: its files are then what they were, byte for byte.

Where somebody has changed a file since, that change stays and only ours goes.

examples:
  torchpick unpin
  torchpick unpin --python .venv/bin/python
  torchpick unpin train.py
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.pin import chosen
from torchpick.cli.show.text import plain
from torchpick.environment import world
from torchpick.errors import UsageError
from torchpick.install import pin
from torchpick.model import envelope
from torchpick.model.request import Request
from torchpick.projects import scripts
from torchpick.session import Session


class UnpinArguments(Arguments):
    scripts: list[str]
    project: str | None
    no_project: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] [SCRIPT …]"
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="scripts that were pinned, such as train.py")
    parser.add_argument("--python", metavar="PATH", help="the environment's interpreter (the active one, or .venv)")
    parser.add_argument("--project", metavar="FILE", help="a pyproject.toml that was pinned")
    parser.add_argument("--no-project", action="store_true", help="leave every pyproject.toml alone")
    parser.add_argument("--json", action="store_true", help="the same facts as one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(args: UnpinArguments) -> int:
    if args.scripts:
        if args.project or args.no_project or args.python:
            raise UsageError("a script is unpinned alone", hint=f"`torchpick unpin {args.scripts[0]}`")
        return _told(args, [file for file in args.scripts if scripts.unpin(file)], ", ".join(args.scripts))
    project = chosen(args.project, no_project=args.no_project)
    pin.check_named(args.python)
    request = Request(gpus=("none",), python=args.python)
    python = Session(request).machine.python
    if python.executable is None:
        raise UsageError("no environment is named or found", hint="name its interpreter with `--python PATH`")
    prefix = world.prefix_of(python.executable)
    return _told(args, pin.unpin(prefix, project), prefix)


def _told(args: UnpinArguments, touched: Sequence[str], where: str) -> int:
    if args.json:
        print(envelope.dumps(envelope.new("unpin", files=list(touched))))
        return 0
    for file in touched:
        print(plain(file))
    if not touched:
        console.notes(args, f"nothing was pinned in {where}")
    return 0
