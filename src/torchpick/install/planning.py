"""A whole environment that is only planned: every pin, what it costs to fetch, and what other drivers would take."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container
from typing import NamedTuple

from torchpick.decide import driver_numbers
from torchpick.decide.answer import Answer
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import NoBuildError
from torchpick.install import asking
from torchpick.install.asking import TargetQuestion
from torchpick.install.handover import Learnt, index_notes
from torchpick.install.learn import learn
from torchpick.model.build import TRIO
from torchpick.model.machine import Machine, Note
from torchpick.model.stack import Download, Stack
from torchpick.session import Session

_OFFLINE = "without `--offline` their wheels are read from your index"
_NOT_READ = "check the names, the versions and the connection to your index"


class Planned(NamedTuple):
    """The environment, and the answer to the same question for another machine by what was learnt."""

    stack: Stack
    again: Callable[[Machine], Answer] | None = None


def plan(session: Session, order: asking.Order) -> Planned:
    """The environment for what is ordered, torch where nothing is; where none fits its `ok` is false.

    What the table lacks is learnt from the user's own index; InstallerError where that has nothing of what is named.
    """
    if not any(order.given):
        order = order._replace(given=RequirementArgs(("torch",)))
    question = asking.planned(session.bare, order._replace(installer=session.installer, only_planned=True))
    question.as_stack = True
    try:
        learnt = learn(question)
    except NoBuildError as error:
        if error.stack is None:
            raise
        return Planned(error.stack)
    stack = learnt.answer.environment
    stack = stack._replace(notes=tuple(dict.fromkeys((*stack.notes, *learnt.notes))))
    if not stack.packages:
        return Planned(stack._replace(hints=(*stack.hints, _OFFLINE if session.offline else _NOT_READ)))

    def again(machine: Machine) -> Answer:
        return session.answer(learnt.answer.question, machines=(machine,), everything=False, catalog=learnt.catalog)

    notes = (*stack.notes, *index_notes(question, learnt), *_with_a_newer_driver(question, learnt, again))
    folders = {project.name for project in question.placed if project.file is None}
    return Planned(stack._replace(notes=notes, download=_download(learnt, stack, folders)), again)


def _download(learnt: Learnt, stack: Stack, folders: Container[str]) -> Download | None:
    """The sizes of the files; what torch itself brings besides is not among them."""
    sizes = {
        each.name: learnt.sizes.get((each.name, each.version)) for each in stack.packages if each.name not in folders
    }
    unknown = tuple(name for name, size in sizes.items() if size is None)
    found = sum(size for size in sizes.values() if size is not None)
    return Download(found, unknown) if found else None


def _with_a_newer_driver(asking_: TargetQuestion, learnt: Learnt, again: Callable[[Machine], Answer]) -> list[Note]:
    """What the newest driver would take instead, and the oldest that takes the same."""
    machine = asking_.machine
    if machine.driver is None or machine.driver.source == "assumed" or not machine.nvidia:
        return []
    drivers = asking_.session.knowledge.rules.drivers
    mine, now = drivers.branch_number(machine.driver), _shown(learnt.answer)
    releases = _releases(learnt.answer)
    numbers = sorted(branch.number for branch in drivers.branches if branch.number > mine)

    def taken(number: int) -> str:
        answer = again(driver_numbers.another(machine, str(number), drivers))
        return _shown(answer) if answer.ok and _releases(answer) != releases else now

    newest = taken(numbers[-1]) if numbers else now
    if newest == now:
        return []
    # What runs on a driver runs on every newer one.
    oldest = bisect_left(numbers, True, hi=len(numbers) - 1, key=lambda number: taken(number) == newest)
    return [Note("NEWER_DRIVER", f"with driver {numbers[oldest]} or newer: {newest}")]


def _releases(answer: Answer) -> list[str]:
    """The same but for the backend, which nobody changes a driver for."""
    return [f"{each.name} {each.version.partition('+')[0]}" for each in answer.environment.packages]


def _shown(answer: Answer) -> str:
    """Torch and what links CUDA; what else moves is of no interest here."""
    packages = answer.environment.packages
    return ", ".join(f"{each.name} {each.version}" for each in packages if each.name in TRIO or each.cuda is not None)
