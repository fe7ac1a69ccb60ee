"""Print the variables under which plain pip and uv take the pick, or run a command under them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.label import choose
from torchpick.errors import UsageError
from torchpick.install import shell
from torchpick.install.command import Command, die_of, run_command, write_files
from torchpick.install.env import command_of, password_notes, variables_for
from torchpick.projects.backends import commands, is_of_project, read_backends


def guard(words: list[str], _status: int) -> str | None:
    """What stdout gets where this command fails: a line that fails too."""
    for place, word in enumerate(words):
        if word == "--shell" and words[place + 1 : place + 2]:
            return shell.refusal(words[place + 1])
        if word.startswith("--shell="):
            return shell.refusal(word.partition("=")[2])
    return shell.refusal("sh")


def run(args: Arguments) -> int:
    named = args.shell or "sh"
    named = shell.ALIKE.get(named, named)
    pick, found, notes = variables_for(console.start(args), named)
    if console.tell_as_json(pick, args, environ=found, notes=notes):
        return 0
    if named != "dockerfile":
        write_files(found.files)
    lines = shell.variables(named, found.set, found.unset, {each.path: each.content for each in found.files})
    print(lines)
    notes = (*notes, *password_notes(lines, image=named == "dockerfile"))
    console.notes(args, *pick.every_note, *(note.text for note in notes))
    return 0


def run_command_under_env(args: Arguments) -> int:
    if not args.passed_on:
        raise UsageError("there is no command to run", hint="such as `torchpick run pip install accelerate`")
    if shutil.which(args.passed_on[0]) is None:
        raise UsageError(f"`{args.passed_on[0]}` is not a command on PATH", hint="`torchpick run --help` has examples")
    args.words = []
    if is_of_project(args.passed_on) and (project := read_backends(os.getcwd())) is not None:
        name, pick = choose(args, project.names)
        if (replaced := commands(args.passed_on, project, name)) is not None:
            console.tell(pick, args)
            console.notes(args, *pick.every_note, f"{project.kind} `{name}` of {project.file} is this machine's")
            return _run_each(replaced)
    pick, command = command_of(console.start(args), args.passed_on)
    console.tell(pick, args)
    console.notes(args, *pick.every_note, *(note.text for note in command.notes))
    return die_of(run_command(command, os.environ).status)


def _run_each(lines: Iterable[Sequence[str]]) -> int:
    """One after the other up to the first that fails, under the variables as they are: a project's lock decides."""
    status = 0
    for argv in lines:
        if status := run_command(Command(argv[0], tuple(argv), {}, (), ()), os.environ).status:
            break
    return die_of(status)
