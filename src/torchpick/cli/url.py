"""Print the pick as one line, for `pip install $(torchpick url)`."""

from __future__ import annotations

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.errors import RequirementError, UsageError
from torchpick.install.question import collect_question, pick_build, unknown_packages
from torchpick.model.address import WHEEL_HOST
from torchpick.model.pick import NO_LINE, NOTHING_RUNS, pip_line

# The exit statuses that say something of this machine.
_OF_MACHINE = (3, 4)


def guard(words: list[str], status: int) -> str | None:
    """What stdout gets where this command fails: a line that pip and uv refuse."""
    if "--bare" in words:
        return None
    return NOTHING_RUNS if status in _OF_MACHINE else NO_LINE


def run(args: Arguments) -> int:
    if args.bare and "default" in args.backend:
        hint = "remove `--bare`; `torchpick url --backend default` prints only the requirement"
        raise UsageError("the default index is your own, so torchpick has no URL for it", hint=hint)
    run = console.start(args, installer="pip")
    question = collect_question(run)
    for word in unknown_packages(run, question):
        hint = f"`torchpick install {word}` installs it together with torch, `torchpick plan {word}` shows how"
        raise RequirementError(f"`{word}` is not on torch's index, so this line cannot have it", hint=hint)
    pick = pick_build(run, question, everything=args.json or args.verbose)
    if console.tell_as_json(pick, args):
        return 0
    print(pick.index_url if args.bare else pip_line(pick.build, pick.wish))
    # To look for a password costs a start some milliseconds, and the wheel host's own address has none.
    password = "" if pick.wish.index_base == WHEEL_HOST else console.of_password(pick.index_url)
    console.notes(args, *pick.every_note, password)
    return 0
