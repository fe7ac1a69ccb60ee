"""So that pip and uv take the pick: variables, or an environment pinned."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import plain
from torchpick.environment import shell, world
from torchpick.errors import UsageError
from torchpick.install.command import write_files
from torchpick.install.env import not_taken_notes, variables_for
from torchpick.install.pin import check_named, pin, pinned_project, unpin
from torchpick.model.fields import dumps, envelope, written
from torchpick.model.pick import Request
from torchpick.projects import scripts
from torchpick.run import start_run


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
    pick, variables = variables_for(console.start(args), named)
    if named != "dockerfile" and world.uv_project(os.getcwd()) is not None:
        variables = variables._replace(notes=(*variables.notes, *not_taken_notes(("uv", "sync"))))
    if console.tell_as_json(pick, args, environ=written(variables, "set", "unset", "files"), notes=variables.notes):
        return 0
    if named != "dockerfile":
        write_files(variables.files)
    lines = shell.variables(named, variables.set, variables.unset, variables.files)
    print(lines)
    password = console.of_password(lines, image=named == "dockerfile")
    console.notes(args, *pick.every_note, *(note.text for note in variables.notes), password)
    return 0


def run_pin(args: Arguments) -> int:
    files = [word for word in args.words if word.endswith(".py")]
    if files and (len(files) > 1 or args.project):
        raise UsageError("a script is pinned alone", hint=f"`torchpick pin {files[0]}`")
    args.words = [word for word in args.words if word not in files]
    run = console.start(args)
    pick, touched, notes = scripts.pin(run, files[0]) if files else pin(run, args.project)
    if console.tell_as_json(pick, args, files=touched, pinned=notes):
        return 0
    for file in touched:
        print(plain(file))
    console.notes(args, *pick.every_note, *(note.text for note in notes))
    return 0


def run_unpin(args: Arguments) -> int:
    if args.words:
        if args.project or args.python:
            raise UsageError("a script is unpinned alone", hint=f"`torchpick unpin {args.words[0]}`")
        return _print_unpinned(args, [file for file in args.words if scripts.unpin(file)], ", ".join(args.words))
    check_named(args.python)
    run = start_run(Request(gpus=("none",), python=args.python))
    python = run.find_machine().python
    if python.executable is None:
        raise UsageError("no environment is named or found", hint="name its interpreter with `--python PATH`")
    prefix = world.prefix_of(python.executable)
    _print_unpinned(args, unpin(prefix, args.project), prefix)
    if project := pinned_project(os.getcwd()):
        python_option = ("--python", args.python) if args.python else ()
        line = shell.line(("torchpick", "unpin", *python_option, "--project", project), run.shell)
        console.notes(args, f"{project} is still pinned: `{line}` takes that out")
    return 0


def _print_unpinned(args: Arguments, touched: Sequence[str], where: str) -> int:
    if args.json:
        print(dumps(envelope("unpin", files=list(touched))))
        return 0
    for file in touched:
        print(plain(file))
    if not touched:
        console.notes(args, f"nothing was pinned in {where}")
    return 0
