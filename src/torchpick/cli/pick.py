"""The pick for this machine, why that one, and what was passed over."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import answer
from torchpick.model import envelope


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    arguments.add_decision_flags(parser)


def run(args: Asked) -> int:
    pick = question.chosen(arguments.request_of(args), tell=console.waiting)
    console.tell(pick, args)
    if args.json:
        print(envelope.dumps(envelope.of_pick(pick, "pick")))
        return 0
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    print(answer.text(pick, install_line(args), console.width(), bold))
    return 0


def install_line(args: Asked) -> str:
    """The same question as a `torchpick install` command."""
    words = ["torchpick", "install", *(args.requirements or ["torch"])]
    for gpu in args.gpu or ():
        words += ["--gpu", gpu]
    for flag, value in (
        ("--driver", args.driver),
        ("--cuda-driver", args.cuda_driver),
        ("--platform", args.platform),
        ("--glibc", args.glibc),
        ("--python", args.python),
        ("--gpus", args.gpus),
        ("--only", args.only),
        ("--index-base", args.index_base),
    ):
        if value is not None:
            words += [flag, value]
    for backend in args.backend or ():
        words += ["--backend", backend]
    for flag, there in (("--cpu", args.cpu), ("--allow-cpu", args.allow_cpu), ("--whole", args.whole)):
        if there:
            words.append(flag)
    return shlex.join(words)
