"""The pick for this machine, why that one, and what was passed over."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.detection import interpreter
from torchpick.detection.world import World
from torchpick.emit import answer
from torchpick.errors import UsageError
from torchpick.model import envelope


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    arguments.add_decision_flags(parser)


def run(args: Asked) -> int:
    _refuse_commands(args.requirements)
    pick = question.chosen(arguments.request_of(args), tell=console.waiting)
    console.tell(pick, args)
    if args.json:
        print(envelope.dumps(envelope.of_pick(pick, "pick")))
        return 0
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    print(answer.text(pick, install_line(args, pick.machine.platform.name), console.width(), bold))
    return 0


def _refuse_commands(words: list[str]) -> None:
    """A command after the options would be taken for a requirement."""
    from torchpick.cli import COMMANDS

    for word in words:
        if word in COMMANDS:
            hint = f"such as `torchpick {word} --gpu sm_86`"
            raise UsageError(f"the command goes first: `torchpick {word} …`", hint=hint)


def install_line(args: Asked, platform: str) -> str | None:
    """The same question as a `torchpick install` command; None where it was about a machine elsewhere."""
    if args.machine is not None or platform != interpreter.own(World.here()).platform.name:
        return None
    words = ["torchpick", "install", *(args.requirements or ["torch"])]
    for flag, values in (("--gpu", args.gpu), ("--backend", args.backend)):
        for each in values or ():
            words += [flag, each]
    for flag, value in (
        ("--driver", args.driver),
        ("--cuda-driver", args.cuda_driver),
        ("--platform", args.platform),
        ("--glibc", args.glibc),
        ("--python", args.python),
        ("--gpus", args.gpus),
        ("--only", args.only),
        ("--index-base", None if args.index_base is None else envelope.redacted(args.index_base)),
        ("--channel", None if args.channel == "stable" else args.channel),
    ):
        if value is not None:
            words += [flag, value]
    for flag, there in (
        ("--cpu", args.cpu),
        ("--allow-cpu", args.allow_cpu),
        ("--allow-unconfirmed", args.allow_unconfirmed),
        ("--whole", args.whole),
        ("--trust-pci", args.trust_pci),
        ("--offline", args.offline),
    ):
        if there:
            words.append(flag)
    return shlex.join(words)
