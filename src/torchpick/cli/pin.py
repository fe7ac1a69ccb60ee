"""Pin an environment or a script to its pick: from then on plain `pip install …` in it keeps the right torch."""

from __future__ import annotations

from torchpick.cli import console, text
from torchpick.cli.arguments import Arguments
from torchpick.errors import UsageError
from torchpick.install.pin import pin
from torchpick.projects import scripts


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
