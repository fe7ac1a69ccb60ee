"""Which of a library's extras fits a machine, by the torch that each of them would bring. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.model.noun import Noun
from torchpick.model.pick import Pick


class Candidate(Noun):
    """An extra, and what its pins come to: the pick, which may be none that runs."""

    name: str
    pick: Pick
    why: str = ""


def eligible(names: Sequence[str], *, gpu: bool, allow_cpu: bool) -> tuple[str, ...]:
    """The names that may be chosen: `cpu` only without a GPU, where it goes first, or where it is allowed."""
    if "cpu" not in names:
        return tuple(names)
    others = tuple(name for name in names if name != "cpu")
    if gpu:
        return (*others, "cpu") if allow_cpu else others
    return ("cpu", *others)


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """The one whose build ranks highest, the first of equals; a `cpu` that goes first and runs is taken."""
    running = [each for each in candidates if each.pick.ok]
    if running and running[0] is candidates[0] and running[0].name == "cpu":
        return running[0]
    return max(running, key=lambda each: each.pick.verdicts[0].rank, default=None)
