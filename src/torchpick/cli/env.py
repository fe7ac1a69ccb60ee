"""Print variables under which plain `pip install …` and `uv pip install …` take the pick.

It holds for torch as somebody's dependency too. Your own indexes, constraints and find-links stay. Where no build runs
the lines end in failure, so that nothing is installed as if they had been set. Passwords of your indexes stand in the
lines, as pip and uv need them.

examples:
  eval "$(torchpick env)"                                             sh, bash, zsh
  torchpick env --shell fish | source                                 fish
  torchpick env --shell powershell | Out-String | Invoke-Expression   PowerShell
  torchpick env --shell github --gpu t4 >> "$GITHUB_ENV"              a step of GitHub Actions
  torchpick env --shell dockerfile --gpu sm_61 --driver 580           lines for a Dockerfile
"""

from __future__ import annotations

from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.install import env
from torchpick.installers import shell, store
from torchpick.session import Session


class EnvArguments(Arguments):
    shell: str


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--shell", choices=shell.SHELLS, default="sh", help="whose lines to print (sh)")
    arguments.add_decision_flags(parser)


def guard(words: list[str]) -> str | None:
    """What stdout gets where this command fails: a line that fails too."""
    for place, word in enumerate(words):
        if word == "--shell" and words[place + 1 : place + 2]:
            return shell.refusal(words[place + 1])
        if word.startswith("--shell="):
            return shell.refusal(word.partition("=")[2])
    return shell.refusal("sh")


def run(args: EnvArguments) -> int:
    pick, found, notes = env.variables_for(Session(arguments.request_of(args), report=console.waiting), args.shell)
    if console.tell_as_json(pick, args, environ=found, notes=notes):
        return 0
    if args.shell != "dockerfile":
        store.keep(found.files)
    lines = shell.variables(args.shell, found.set, found.unset, {each.path: each.content for each in found.files})
    print(lines)
    notes = (*notes, *env.password_notes(lines, image=args.shell == "dockerfile"))
    console.notes(args, *pick.every_note, *(note.text for note in notes))
    return 0
