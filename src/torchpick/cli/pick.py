"""The pick for this machine, why that one, and what was passed over."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchpick.cli import COMMANDS, arguments, console
from torchpick.cli.arguments import Arguments, close_to
from torchpick.cli.text import fit as supported
from torchpick.decide import refusal
from torchpick.decide.answer import decided, older_drivers, why_not_newer
from torchpick.environment import interpreter, shell
from torchpick.errors import UsageError
from torchpick.install.question import answer_request, collect_question, unknown_packages
from torchpick.knowledge.packages import KnownPackages
from torchpick.model import VERSION
from torchpick.model.address import redacted
from torchpick.model.fields import dumps, envelope
from torchpick.model.machine import Machine
from torchpick.model.pick import Pick, pip_words
from torchpick.model.versions import grouped, normal

# Beside the packages of the table.
_OFTEN = ("transformers", "diffusers", "triton")


def check_words(words: Sequence[str]) -> None:
    """A first word that is neither a command nor a package of the table is an error: it may be a typo."""
    if not words or not words[0].isidentifier() or words[0].startswith("torch"):
        return
    if normal(words[0]) in (*KnownPackages(os.environ, ""), *_OFTEN):
        return
    refusal.refuse(words[:1], "plan")
    close = close_to(words[0], COMMANDS, 0.7)
    hint = f"`torchpick plan {words[0]}` asks for a package, `torchpick help all` shows the commands"
    if close:
        hint = f"did you mean `torchpick {close[0]}`?"
    raise UsageError(f"unknown command `{words[0]}`", hint=hint)


def run(args: Arguments) -> int:
    if args.version:
        print(dumps(envelope("version")) if args.json else f"torchpick {VERSION}")
        return 0
    if command := next((word for word in args.words if word in COMMANDS), None):  # it would be read as a requirement
        hint = f"such as `torchpick {command} --gpu sm_86`"
        raise UsageError(f"the command goes first: `torchpick {command} …`", hint=hint)
    run = console.start(args)
    question = collect_question(run)
    answer = decided(answer_request(run, question), run.knowledge.rules)
    pick, stack = answer.pick, answer.stack
    facts = {} if stack is None else {"stack": stack.to_dict()["stack"]}
    if console.tell_as_json(pick, args, **facts):
        return 0
    commands = _install_lines(args, pick.machine, run.shell)
    if not unknown_packages(run, question):
        # Torch and its companions all lie on one index.
        words = pip_words(pick.build, pick.wish, redacted(pick.index_url))
        commands.append(shell.line(["pip", "install", *words], run.shell))
    others = (package for package in answer.environment.packages if package.name != "torch")
    beside = [("with", f"{package.requirement}: {package.verdict}; {package.why}") for package in others]
    if len(pick.machines) == 1:
        drivers = run.knowledge.rules.drivers
        spans = older_drivers(
            pick.machine, drivers, lambda machine: answer_request(run, machines=(machine,), everything=False)
        )
        beside += [("older drivers", span) for span in spans]
    console.print_blocks(_page(pick, commands, beside), len("why not newer") + 2)
    return 0


def _install_lines(args: Arguments, machine: Machine, quoting: str) -> list[str]:
    """The same request as a `torchpick install` command; none if it was for another machine or Python."""
    own = interpreter.running()
    here = machine.python.executable or machine.python.tag == own.python.tag
    if args.machine or not here or machine.platform.name != own.platform.name:
        return []
    request = arguments.request_of(args)
    if request.index_base is not None:
        request = request._replace(index_base=redacted(request.index_base))
    return [shell.line(["torchpick", "install", *(args.words or ["torch"]), *request.flags], quoting)]


# What the picked build cannot do on these GPUs belongs to the pick itself.
_UNDER_THE_PICK = "PARTIAL_LIBRARY"


def _page(pick: Pick, commands: Sequence[str], beside: Sequence[tuple[str, str]]) -> list[Sequence[tuple[str, str]]]:
    """Labelled lines in blocks. `commands` are those that take the pick, the best first.

    `beside` are labelled lines: the packages with it, or what older drivers take instead.
    """
    parts: list[Sequence[tuple[str, str]]] = [
        [("machine", line) for line in _machine_lines(pick)],
        [("pick", line) for line in _pick(pick)],
        beside,
        [*zip(("run", "or"), commands, strict=False)],
        [("why not newer", line) for line in why_not_newer(pick)],
        [("note", note.text) for note in pick.every_note if note.code != _UNDER_THE_PICK],
    ]
    return [part for part in parts if part]


def _machine_lines(pick: Pick) -> list[str]:
    """The machine; those of a file once where they are alike, below their number and hosts."""
    if pick.fleet is None:
        return [pick.machine.in_short]
    alike = grouped((machine.in_short, number) for number, machine in enumerate(pick.machines))
    return [line for facts, places in alike.items() for line in (*pick.fleet.hosts(places).heading, facts)]


def _pick(pick: Pick) -> list[str]:
    lines = [f"torch {pick.version}"]
    for verdict in pick.verdicts:
        for fit in verdict.fits:
            label = pick.machines[fit.machine or 0].label_of(fit.gpu)
            lines.append(f"{label}: {supported(fit.fit, fit.via)}")
    lines = [*dict.fromkeys(lines)]  # machines that are alike say the same
    lines += [note.text for note in pick.notes if note.code == _UNDER_THE_PICK]
    if pick.companions:
        lines.append("with " + ", ".join(f"{name} {version}" for name, version in pick.companions.items()))
    return lines
