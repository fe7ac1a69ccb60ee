"""Depth-first search with conflict-directed backjumping: the first solution in the order of the choices. Pure.

A choice is moved only when nothing after it can be completed, and then to its own next candidate: what comes later
never replaces it, so the first solution found is the best one. A conflict names the choices that together exclude every
completion; where a project has no candidate left, the search jumps back to the latest of them and leaves out what lies
between, which could change nothing.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

S = TypeVar("S")
C = TypeVar("C")
# The names of choices; nothing of what was asked itself, which cannot be moved.
Causes = frozenset[str]


class Conflict(NamedTuple):
    """These choices together can never be completed."""

    causes: Causes = frozenset()


class Needs(NamedTuple):
    """What has to be known before the search can go on: pages of projects, METADATA and GPU code of their versions.

    A page comes with the specifier that is known so far: METADATA of the newest within it is what is asked for next.
    `roots` are projects that only an older version requires, likewise.
    """

    pages: Mapping[str, str] = {}
    metadata: tuple[tuple[str, str], ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    roots: Mapping[str, str] = {}


class StepsExceeded(NamedTuple):
    """Hostile requirements must not be searched for ever."""

    steps: int


class Problem(Protocol[S, C]):
    """What is searched; a state is a value, and the same state always has the same next project and candidates."""

    def next_project(self, state: S) -> str | None:
        """The project to choose next; None where all are chosen."""

    def candidates(self, state: S, name: str) -> tuple[Iterable[C], Causes]:
        """Its candidates, best first, and the choices that ask for it or exclude others."""
        ...

    def choose(self, state: S, name: str, candidate: C) -> S | Conflict | Needs:
        """The state with this candidate in it, or why it cannot be."""
        ...

    def finish(self, state: S) -> Conflict | Needs | None:
        """What is against a state in which all is chosen."""

    def retreat(self, name: str, candidate: C) -> None:
        """Hear that a candidate which was chosen cannot be completed."""


class _Choice(Generic[S, C]):
    """A project on the stack: the state before it, the candidates that are left, and what excluded the others."""

    def __init__(self, name: str, before: S, candidates: Iterable[C], causes: Causes) -> None:
        self.name, self.before, self.candidates, self.causes = name, before, iter(candidates), causes
        self.taken: list[C] = []  # the candidate that the choices after it stand on


def solve(problem: Problem[S, C], start: S, most_steps: int) -> S | Conflict | Needs | StepsExceeded:
    """The first solution; else the choices that exclude any (none: what was asked does), or what is to be learnt."""
    stack: list[_Choice[S, C]] = []
    outcome: S | Conflict | Needs = start
    for _ in range(most_steps):
        if isinstance(outcome, Needs):
            return outcome
        if isinstance(outcome, Conflict):
            back = _jump_back(stack, outcome.causes)
            if back is None:
                return outcome
            choice = back
            while choice.taken:
                problem.retreat(choice.name, choice.taken.pop())
        else:
            name = problem.next_project(outcome)
            if name is None:
                against = problem.finish(outcome)
                if against is None:
                    return outcome
                outcome = against
                continue
            choice = _Choice(name, outcome, *problem.candidates(outcome, name))
            stack.append(choice)
        for candidate in choice.candidates:
            outcome = problem.choose(choice.before, choice.name, candidate)
            if isinstance(outcome, Conflict):
                outcome = Conflict(outcome.causes | {choice.name})
            else:
                choice.taken.append(candidate)
            break
        else:
            outcome = Conflict(stack.pop().causes)
    return StepsExceeded(most_steps)


def _jump_back(stack: list[_Choice[S, C]], causes: Causes) -> _Choice[S, C] | None:
    """The latest choice among the causes, which inherits the others; what came after it is forgotten."""
    while stack and stack[-1].name not in causes:
        stack.pop()
    if not stack:
        return None
    stack[-1].causes |= causes - {stack[-1].name}
    return stack[-1]
