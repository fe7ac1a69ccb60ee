"""Pin an environment or a script to its pick, so that plain `pip install …` keeps the right torch; and unpin it."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.cli import console, text
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import plain
from torchpick.environment import world
from torchpick.errors import UsageError
from torchpick.install.pin import check_named, pin, unpin
from torchpick.model.fields import dumps, envelope
from torchpick.model.pick import Request
from torchpick.projects import scripts
from torchpick.run import start_run


def run(args: Arguments) -> int:
    files = [word for word in args.words if word.endswith(".py")]
    if files and (len(files) > 1 or args.project or args.no_project):
        raise UsageError("a script is pinned alone", hint=f"`torchpick pin {files[0]}`")
    project = chosen(args.project, no_project=args.no_project)
    args.words = [word for word in args.words if word not in files]
    run = console.start(args)
    pinned = scripts.pin(run, files[0]) if files else pin(run, project)
    if console.tell_as_json(pinned.pick, args, files=pinned.touched, pinned=pinned.notes):
        return 0
    for file in pinned.touched:
        print(text.plain(file))
    console.notes(args, *pinned.pick.every_note, *(note.text for note in pinned.notes))
    return 0


def chosen(project: str | None, *, no_project: bool) -> str | None:
    """The project that is named; empty for none, None for the environment's own."""
    if project and no_project:
        raise UsageError("`--project` and `--no-project` contradict each other", hint="use only one of them")
    return "" if no_project else project


def run_unpin(args: Arguments) -> int:
    if args.words:
        if args.project or args.no_project or args.python:
            raise UsageError("a script is unpinned alone", hint=f"`torchpick unpin {args.words[0]}`")
        return _print_unpinned(args, [file for file in args.words if scripts.unpin(file)], ", ".join(args.words))
    project = chosen(args.project, no_project=args.no_project)
    check_named(args.python)
    python = start_run(Request(gpus=("none",), python=args.python)).find_machine().python
    if python.executable is None:
        raise UsageError("no environment is named or found", hint="name its interpreter with `--python PATH`")
    prefix = world.prefix_of(python.executable)
    return _print_unpinned(args, unpin(prefix, project), prefix)


def _print_unpinned(args: Arguments, touched: Sequence[str], where: str) -> int:
    if args.json:
        print(dumps(envelope("unpin", files=list(touched))))
        return 0
    for file in touched:
        print(plain(file))
    if not touched:
        console.notes(args, f"nothing was pinned in {where}")
    return 0
