"""Show every build considered, best first, each with its verdict.

examples:
  torchpick list                                 this machine
  torchpick list --gpu "GTX 1080 Ti" | less      another one
  torchpick list --all --gpu sm_61               also builds for other hardware and other platforms
  torchpick list --companions "torch>=2.10"      which torchvision, torchaudio … go with which torch
  torchpick list vllm --gpu t4                   which versions of a CUDA package run there, and with which torch
"""

from __future__ import annotations

from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import table
from torchpick.model import envelope
from torchpick.model.pick import as_json
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.model.stack import Stack


class ListArguments(Arguments):
    all: bool
    companions: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="also builds for other hardware, other platforms, and the default index's own",
    )
    parser.add_argument(
        "--companions",
        action="store_true",
        help="which torchvision, torchaudio … belong to which torch, on which backend",
    )
    arguments.add_decision_flags(parser)


def run(args: ListArguments) -> int:
    if args.companions:
        from torchpick.cli import companions

        return companions.run(args)
    if len(args.requirements) == 1 and not _is_family(args.requirements[0]):
        return _versions(args.requirements[0], args)
    session = Session(arguments.request_of(args), report=console.waiting)
    pick = session.weighed_anyhow()
    console.tell(pick, args)
    if args.all:
        pick = pick._replace(considered=(*pick.considered, *session.never_picked(pick)))
    if args.json:
        print(envelope.dumps(as_json(pick, "list")))
        return 0 if pick.ok else 3
    shown = pick.considered if args.all else table.shortlist(pick)
    print(table.builds(pick, shown, console.width(), console.painter(args)))
    console.notes(args, *pick.every_note)
    if left := len(pick.considered) - len(shown):
        console.notes(args, f"{left} builds for other hardware or outside the request are left out; `--all` adds them")
    return 0 if pick.ok else 3


def _is_family(word: str) -> bool:
    """Whether the word is torch or a companion, which the builds' own table is about."""
    from torchpick.decide.requested import named
    from torchpick.model.build import COMPANIONS

    return named(word) in ("torch", *COMPANIONS)


def _versions(name: str, args: ListArguments) -> int:
    """The versions of one package; 3 where none of them runs."""
    from torchpick.cli.show import stack as shown
    from torchpick.install import stack as stacks
    from torchpick.model.requirement import normal

    rows = tuple(stacks.versions(Session(arguments.request_of(args), report=console.waiting), normal(name)))
    status = 0 if any(stack.ok for _, stack in rows) else 3
    if args.json:
        best = next((stack for _, stack in rows if stack.ok), rows[0][1])
        found = {**best.to_json("list"), "versions": [_version(package.version, stack) for package, stack in rows]}
        print(envelope.dumps(found))
        return status
    print(shown.versions(rows, console.width(), console.painter(args)))
    console.notes(args, *rows[0][1].machine.notes, *shown.of_torch(rows))
    return status


def _version(version: str, stack: Stack) -> dict[str, object]:
    found = stack.to_json("list")
    return {"version": version, "ok": stack.ok, "stack": found["stack"], "objections": found["objections"]}
