"""A whole environment that is only planned, and the versions of one package, each with the environment it is for."""

from __future__ import annotations

from collections.abc import Container

from torchpick.decide.environments import DEFAULT_INDEX
from torchpick.environment.requirements import Given
from torchpick.errors import NoBuildError
from torchpick.install import asking
from torchpick.install.handover import Learnt
from torchpick.install.learning import Learner
from torchpick.model.stack import NOT_READ, PinnedPackage, Stack
from torchpick.model.verdict import NO_CODE
from torchpick.session import Session

_OFFLINE = "without `--offline` their wheels are read from your index"
_NOT_READ = "check the names, the versions and the connection to your index"


def plan(session: Session, *, allow_mixed: bool) -> Stack:
    """The environment for the request's requirements; where none fits its `ok` is false.

    What the table lacks is learnt; ResolverError where the installer's resolver refuses.
    """
    given = Given(session.request.requirements or ("torch",))
    order = asking.Order(given, session.installer, allow_mixed=allow_mixed, only_planned=True)
    question = asking.planned(session.bare, order)
    question.as_stack = True
    learner = Learner(question)
    try:
        learnt = learner.learn()
    except NoBuildError as error:
        if error.stack is None:
            raise
        return error.stack._replace(notes=learner.unread(error.stack.unknown))
    made = _dated(_completed(learnt, [each.name for each in question.wanted]), learnt, learner.table)
    if made.packages:
        return made
    return made._replace(hints=(*made.hints, _OFFLINE if session.offline else _NOT_READ))


def _completed(learnt: Learnt, names: list[str]) -> Stack:
    """The environment with what else was asked for, as it was resolved, and with what was not judged."""
    stack = learnt.answer.environment
    resolved = learnt.versions
    unread = {name for note in learnt.notes for name in names if f" {name} " in note.text}
    more = tuple(
        PinnedPackage(
            name=name,
            version=resolved[name],
            cuda=None,
            links_torch=False,
            index=DEFAULT_INDEX,
            verdict=NOT_READ if name in unread else NO_CODE,
            why="you asked for it",
            evidence="resolved",
        )
        for name in dict.fromkeys(names)
        if name in resolved and stack.version(name) is None
    )
    return stack._replace(packages=(*more, *stack.packages), notes=tuple(dict.fromkeys((*stack.notes, *learnt.notes))))


def _dated(stack: Stack, learnt: Learnt, table: Container[str]) -> Stack:
    """The environment with the table's day at each plain package that it alone knows: there may be a newer one."""
    day = learnt.answer.pick.table_date
    if learnt.resolution is not None or day is None:
        return stack
    packages = (
        each
        if each.is_pinned or each.name not in table or each.requirement in stack.asked
        else each._replace(why=f"{each.why}, as of {day}")
        for each in stack.packages
    )
    return stack._replace(packages=tuple(packages))
