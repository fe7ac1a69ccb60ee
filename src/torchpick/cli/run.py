"""Run a command under the variables that `torchpick env` prints: plain pip and uv in it take the pick."""

from __future__ import annotations

import os
import shutil

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.errors import UsageError
from torchpick.install.command import die_of, run_command
from torchpick.install.env import command_of


def run(args: Arguments) -> int:
    if not args.passed_on:
        raise UsageError("there is no command to run", hint="such as `torchpick run pip install accelerate`")
    if shutil.which(args.passed_on[0]) is None:
        raise UsageError(f"`{args.passed_on[0]}` is not a command on PATH", hint="`torchpick run --help` has examples")
    args.words = []
    pick, command = command_of(console.start(args), args.passed_on)
    console.tell(pick, args)
    console.notes(args, *pick.every_note, *(note.text for note in command.notes))
    return die_of(run_command(command, os.environ).status)
