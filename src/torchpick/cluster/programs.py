"""A cluster's own programs, each started as a bounded child, and what it means where one fails."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from torchpick.environment import child
from torchpick.environment.processes import Running
from torchpick.environment.world import which
from torchpick.errors import TorchpickError

# `kubectl get nodes -o json` is 10 to 30 kB a node.
_MOST_BYTES = 128 << 20
_SHOWN = 300
# What shells, Slurm, containers and Python say of a program that is not there.
_ABSENT = re.compile("not found|No such file|not recognized|No module named")


class ClusterError(TorchpickError):
    """A cluster's own program is missing, refuses, or does not answer in time."""

    code = "CLUSTER"


def started(words: Sequence[str], environ: Mapping[str, str]) -> Running:
    """A program of PATH that was started; ClusterError where it cannot be."""
    program = which(words[0], environ)
    if program is None:
        hint = "run this where the cluster's programs are installed"
        raise ClusterError(f"`{words[0]}` is not on PATH", hint=hint)
    try:
        return child.start([program, *words[1:]], environ, most=_MOST_BYTES)
    except OSError as error:
        message = f"cannot start {words[0]}: {error.strerror}"
        raise ClusterError(message, hint="is it installed completely?") from error


def why(ended: child.ChildResult) -> str:
    """The last error message, or how it ended."""
    if ended.status is None:
        return "it did not answer in time"
    return ended.last_words[:_SHOWN] or f"it ended with status {ended.status}"


def is_absent(program: str, said: str) -> bool:
    """Whether a machine said that this program is not there."""
    return program in said and _ABSENT.search(said) is not None
