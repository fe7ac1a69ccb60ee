"""Print one line for `pip install $(torchpick url)`: the wheel index and torch's exact build.

The line is closed-world: with --index-url everything comes from the wheel index alone, which has torch, its
companions and most of what they need, and nothing else. `torchpick install` and `torchpick env` have no such limit.
If no build runs, the line makes pip and uv fail, so that they never fall back to another index. The password of a
mirror is in the line, as pip needs it.

examples:
  pip install $(torchpick url)                        bash, zsh
  pip install (torchpick url | string split ' ')      fish
  pip install (torchpick url).Split()                 PowerShell
  pip install $(torchpick url torchvision) torchvision
  torchpick url --gpu sm_61 --driver 580.95.05 "torch<2.12"
"""

from __future__ import annotations

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.errors import RequirementError, UsageError
from torchpick.model.pick import NOTHING_RUNS, pip_line
from torchpick.model.versions import named
from torchpick.session import Session, decided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


class UrlArguments(Arguments):
    bare: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--bare", action="store_true", help="only the URL of the index")
    arguments.add_decision_flags(parser)


def guard(words: list[str]) -> str | None:
    """What stdout gets where this command fails: a line that pip and uv refuse."""
    return None if "--bare" in words else NOTHING_RUNS


def run(args: UrlArguments) -> int:
    if args.bare and "default" in (args.backend or ()):
        hint = "remove `--bare`; `torchpick url --backend default` prints only the requirement"
        raise UsageError("the default index is your own, so torchpick has no URL for it", hint=hint)
    session = Session(arguments.request_of(args), report=console.waiting, installer="pip")
    _check_family(args.requirements, session)
    answer = decided(session.answer(everything=args.json or args.verbose), session.knowledge.rules)
    pick = answer.pick
    if console.tell_as_json(pick, args):
        return 0
    print(pick.index_url if args.bare else pip_line(pick.build, pick.wish))
    console.notes(args, *pick.every_note, *console.not_judged(answer, args.requirements))
    return 0


def _check_family(words: list[str], session: Session) -> None:
    """What does not lie on torch's index has no place in its line."""
    if not words:
        return
    for word in words:
        name = named(word)
        if name and name not in ("torch", "torchvision", "torchaudio") and name not in session.knowledge.family:
            hint = f"`torchpick install {word}` installs other packages together with torch, `torchpick plan` shows how"
            raise RequirementError(f"`{word}` is not part of the torch family", hint=hint)
