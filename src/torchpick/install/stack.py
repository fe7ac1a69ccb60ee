"""A request → one environment: the session's machine and table, and what is known of packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchpick.decide import demands
from torchpick.decide import stack as stacks
from torchpick.errors import DetectionError, UsageError
from torchpick.install.joined import READ, LearntPackages, WheelReader
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts
from torchpick.model.request import Wish
from torchpick.model.stack import Stack
from torchpick.model.table import Table
from torchpick.session import Session

_OFFLINE = "without `--offline` their wheels are read from your index"
_NOT_READ = "check the names, the versions and the connection to your index"


class PlanGround(Noun):
    """What every question about packages rests on."""

    machine: Machine
    table: Table
    wish: Wish
    facts: Mapping[str, PackageFacts]


def ground(session: Session) -> PlanGround:
    """The machine, the table and the packages behind a request."""
    bare = session.asking(session.request._replace(requirements=()))
    bare.weighed(everything=False)  # what the flags say of machine and backend is checked as for a pick
    machine, *others = bare.machines
    if others:
        count = len(others) + 1
        raise UsageError(f"a plan is for one machine, and {count} were given", hint="plan for one of them at a time")
    return _ground(bare, machine, bare.wish)


def _ground(bare: Session, machine: Machine, wish: Wish) -> PlanGround:
    facts = KnownPackages(bare.environ, machine.platform.name)
    return PlanGround(machine, bare.table_of((machine,)), wish, facts)


def plan(session: Session, *, allow_mixed: bool) -> Stack:
    """The environment for the request's requirements; where none fits its `ok` is false.

    What the table lacks of them is read from the user's own index.
    """
    asked = demands.asked(session.request.requirements or ("torch",))
    here = ground(session)
    reader = None if session.offline else WheelReader(session, here.machine.python.executable)
    known = LearntPackages(here.facts, here.machine, reader)

    def judge() -> Stack:
        return stacks.stack(here.machine, here.table, here.wish, asked, known.facts, allow_mixed=allow_mixed)

    found = known.judged(judge)
    notes = tuple(_unread(name, specifier, known, session) for name, specifier in found.unknown.items())
    if notes and not (found.ok or found.objections):
        found = found._replace(hints=(*found.hints, _OFFLINE if session.offline else _NOT_READ))
    return found._replace(notes=(*found.notes, *notes))


def _unread(name: str, specifier: str, known: LearntPackages, session: Session) -> Note:
    """Why a package that the table lacks was not judged."""
    why = known.lacking.get(name)
    if why is None and not known.readable:
        why = f"wheels are read for {' and '.join(READ)}"
    if why is None:
        why = "nothing is read with `--offline`" if session.offline else "your index has no release within that"
    return Note("PACKAGE_UNREAD", f"no wheel of {name}{specifier} was read: {why}")


def versions(session: Session, name: str) -> Iterator[tuple[Package, Stack]]:
    """Every known version of a package with the environment it would be in, newest first.

    A GPU that does not answer is a note, and the versions are judged by all else.
    """
    try:
        here = ground(session)
    except DetectionError as error:
        if error.machine is None:
            raise
        here = _without_answer(session, error, error.machine)
    if name not in here.facts or not here.facts[name].versions:
        from difflib import get_close_matches

        close = get_close_matches(name, here.facts)
        hint = (
            f"did you mean `{close[0]}`?" if close else f"`torchpick inspect {name}==VERSION` reads one of its wheels"
        )
        raise UsageError(f"`{name}` is not a package of the table", hint=hint)
    return stacks.versions(here.machine, here.table, here.wish, name, here.facts)


def _without_answer(session: Session, error: DetectionError, found: Machine) -> PlanGround:
    note = Note(error.code, f"{error.message}, so no GPU was judged; {error.hint}")
    machine = found._replace(gpus=(), trouble=None, notes=(*found.notes, note))
    here = _ground(session.asking(session.request._replace(requirements=())), machine, Wish())
    for_gpus = {build.backend for build in here.table.of(machine.platform.name) if build.family == "cuda"}
    return here._replace(wish=Wish(backends=tuple(sorted(for_gpus))))
