"""Run a command under the variables that `torchpick env` prints: plain pip and uv in it take the pick.

The command has the terminal, signals go on to it, and its exit status is passed on. Where no build runs it is not
started. `uv run --with torch …` gets torch by its exact build; where a command reads no such variables (`uv sync`), a
note names what does it instead. Our own flags come before the command.

examples:
  torchpick run pip install accelerate
  torchpick run uv run --with torch,transformers train.py
  torchpick run --gpu "GTX 1080 Ti" --driver 580.95.05 make install
  torchpick run -- ./setup.sh --quiet
"""

from __future__ import annotations

import os
import shutil
from argparse import ArgumentParser
from collections.abc import Sequence

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments, EverydayParser
from torchpick.errors import UsageError
from torchpick.install import env
from torchpick.installers import run as runner
from torchpick.session import Session


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] CMD …"
    arguments.add_machine_flags(parser)
    arguments.add_wish_flags(parser)
    group = parser.add_argument_group("the output")
    group.add_argument("--quiet", action="store_true", help="do not print notes on stderr")
    group.add_argument("--verbose", action="store_true", help="report on stderr what was tried")


def split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Our flags, and the command behind them."""
    flags = EverydayParser("torchpick run")
    add_arguments(flags)  # type: ignore[arg-type]  # it takes what a parser takes
    place = flags.leading(words)
    behind = words[place:]
    return words[:place], behind[1:] if behind[:1] == ["--"] else behind


def run(args: Arguments) -> int:
    if not args.passed_on:
        raise UsageError("there is no command to run", hint="such as `torchpick run pip install accelerate`")
    if shutil.which(args.passed_on[0]) is None:
        raise UsageError(f"`{args.passed_on[0]}` is not a command on PATH", hint="`torchpick run --help` has examples")
    args.requirements = []
    session = Session(arguments.request_of(args), report=console.waiting)
    pick, command = env.command_of(session, args.passed_on)
    console.tell(pick, args)
    console.notes(args, *pick.every_note, *(note.text for note in command.notes))
    return runner.die_of(runner.run(command, os.environ).status)
