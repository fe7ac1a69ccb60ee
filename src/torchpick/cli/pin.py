"""Hold an environment to its pick: from then on plain `pip install …` in it keeps the right torch.

It writes the environment's own pip configuration and, for uv, the project that the environment belongs to (it is the
.venv beside a pyproject.toml) or conda's activation scripts; a plain environment has no place for uv's settings. An
installed torch that runs here is what is held; else the pick is. `torchpick unpin` puts everything back.

examples:
  torchpick pin                                      the active environment, or .venv
  torchpick pin --python .venv/bin/python "torch<2.12"
  torchpick pin --no-project                         leave pyproject.toml alone
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import pinning
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import text
from torchpick.errors import UsageError
from torchpick.model import envelope


class Pin(Asked):
    project: str | None
    no_project: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--project", metavar="FILE", help="the pyproject.toml to write uv's settings into")
    parser.add_argument("--no-project", action="store_true", help="write into no pyproject.toml")
    arguments.add_decision_flags(parser)


def run(args: Pin) -> int:
    project = chosen(args.project, no_project=args.no_project)
    found = pinning.pin(arguments.request_of(args), os.environ, project, tell=console.waiting)
    console.tell(found.pick, args)
    if args.json:
        notes = [note.to_json() for note in found.notes]
        print(envelope.dumps({**envelope.of_pick(found.pick, "pin"), "files": list(found.touched), "pinned": notes}))
        return 0
    for file in found.touched:
        print(text.plain(file))
    if not args.quiet:
        for line in [*text.notes(found.pick), *(f"note: {text.plain(note.text)}" for note in found.notes)]:
            print(line, file=sys.stderr)
    return 0


def chosen(project: str | None, *, no_project: bool) -> str | None:
    """The project that is named; empty for none, None for the environment's own."""
    if project and no_project:
        raise UsageError("`--project` and `--no-project` contradict each other", hint="leave one of them out")
    return "" if no_project else project
