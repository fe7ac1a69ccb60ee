"""Depth first with conflict-directed backjumping, in the order that is promised. Pure.

A choice is moved only when nothing after it can be completed, and then to its own next candidate, so the first solution
is the best one. A conflict names the choices that together exclude every completion: where a project has no candidate
left, the search jumps back to the latest of them and leaves out what lies between, which could change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from torchpick.decide.searchfacts import Needs

S = TypeVar("S")
C = TypeVar("C")
# The names of choices; nothing of what was asked itself, which cannot be moved. In the place of a state: these together
# can never be completed.
Causes = frozenset[str]


class Problem(Protocol[S, C]):
    """What is searched; a state is a value, and the same state always has the same next project and candidates."""

    def next_project(self, state: S) -> str | None: ...
    def candidates(self, state: S, name: str) -> tuple[Iterable[C], Causes]: ...
    def choose(self, state: S, name: str, candidate: C) -> S | Causes | Needs: ...
    def finish(self, state: S) -> Causes | Needs | None: ...
    def retreat(self, name: str, candidate: C) -> None: ...


class _Choice(Generic[S, C]):
    """A project on the stack: the state before it, the candidates that are left, and what excluded the others."""

    def __init__(self, name: str, before: S, candidates: Iterable[C], causes: Causes) -> None:
        self.name, self.before, self.candidates, self.causes = name, before, iter(candidates), causes
        self.taken: list[C] = []  # the candidate that the choices after it stand on


def solve(problem: Problem[S, C], start: S, most_steps: int) -> S | Causes | Needs | None:
    """The first solution; else the choices that exclude any (none: what was asked does), or what is to be learnt.

    None where so many steps came to no end: hostile requirements must not be searched for ever.
    """
    stack: list[_Choice[S, C]] = []
    outcome: S | Causes | Needs = start
    for _ in range(most_steps):
        if isinstance(outcome, Needs):
            return outcome
        if isinstance(outcome, frozenset):
            back = _jump_back(problem, stack, outcome)
            if back is None:
                return outcome
            choice = back
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
            if isinstance(outcome, frozenset):
                outcome |= {choice.name}
            else:
                choice.taken.append(candidate)
            break
        else:
            outcome = stack.pop().causes
    return None


def _jump_back(problem: Problem[S, C], stack: list[_Choice[S, C]], causes: Causes) -> _Choice[S, C] | None:
    """The latest choice among the causes, which inherits the others; what came after it is forgotten."""
    while stack and stack[-1].name not in causes:
        stack.pop()
    for choice in stack[-1:]:
        choice.causes |= causes - {choice.name}
        while choice.taken:
            problem.retreat(choice.name, choice.taken.pop())
        return choice
    return None
