"""Print variables under which plain `pip install …` and `uv pip install …` take the pick."""

from __future__ import annotations

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.install import shell
from torchpick.install.command import write_files
from torchpick.install.env import password_notes, variables_for


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
