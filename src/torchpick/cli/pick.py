"""The pick for this machine, why that one, and what was passed over."""

from __future__ import annotations

from itertools import pairwise

from torchpick.cli import COMMANDS, answer, arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import resolve
from torchpick.decide.answer import decided
from torchpick.environment import interpreter
from torchpick.errors import UsageError
from torchpick.install import shell
from torchpick.install.question import answer_request, collect_question, unknown_packages
from torchpick.model import VERSION
from torchpick.model.address import redacted
from torchpick.model.machine import Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchpick.decide.answer import Answer
    from torchpick.model.table import DriverTable


def run(args: Arguments) -> int:
    if args.version:
        print(f"torchpick {VERSION}")
        return 0
    _refuse_commands(args.words)
    run = console.start(args)
    question = collect_question(run)
    given = decided(answer_request(run, question), run.knowledge.rules)
    pick, stack = given.pick, given.stack
    facts = {} if stack is None else {"stack": stack.to_json()["stack"]}
    if console.tell_as_json(pick, args, **facts):
        return 0
    bold = console.painter()
    commands = install_lines(args, pick.machine)
    if not unknown_packages(run, question):
        commands.append(answer.pip_command(pick))
    beside = answer.packages(given.environment)
    if len(pick.machines) == 1:
        drivers = run.knowledge.rules.drivers
        beside += older_drivers(
            pick.machine, drivers, lambda machine: answer_request(run, machines=(machine,), everything=False)
        )
    print(answer.text(pick, commands, console.width(), bold, beside))
    return 0


def older_drivers(machine: Machine, table: DriverTable, ask: Callable[[Machine], Answer]) -> list[tuple[str, str]]:
    """Where the newest driver was assumed: what older ones take instead, as far down as anything runs."""
    if machine.driver is None or machine.driver.source != "assumed":
        return []
    newest = table.branch_number(machine.driver)
    spans: list[tuple[str, int]] = []  # each answer with the oldest driver that takes it
    for number in reversed([branch.number for branch in table.branches if branch.number <= newest]):
        older = resolve.with_driver(machine, str(number), table)
        given = ask(older)
        if not given.ok:
            break
        what = ", ".join(f"{name} {version}" for name, version in given.taken.items())
        if spans and what == spans[-1][0]:
            spans.pop()
        spans.append((what, number))
    return [("older drivers", f"{oldest} to {above - 1}: {what}") for (_, above), (what, oldest) in pairwise(spans)]


def _refuse_commands(words: Sequence[str]) -> None:
    """A command after the options would be read as a requirement."""
    for word in words:
        if word in COMMANDS:
            hint = f"such as `torchpick {word} --gpu sm_86`"
            raise UsageError(f"the command goes first: `torchpick {word} …`", hint=hint)


def install_lines(args: Arguments, machine: Machine) -> list[str]:
    """The same request as a `torchpick install` command; none if it was for another machine or Python."""
    own = interpreter.running()
    here = machine.python.executable or machine.python.tag == own.python.tag
    if args.machine or not here or machine.platform.name != own.platform.name:
        return []
    request = arguments.request_of(args)
    if request.index_base is not None:
        request = request._replace(index_base=redacted(request.index_base))
    return [shell.line(["torchpick", "install", *(args.words or ["torch"]), *request.flags])]
