"""What asks the machines of a cluster: calls of its own programs, each a bounded child, whose output is the answer."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

from torchpick.environment import child
from torchpick.environment.child import ChildResult, Running
from torchpick.environment.world import which
from torchpick.errors import TorchpickError
from torchpick.machine.machinefiles import Reader

# How many calls run at once.
AT_ONCE = 32
# `kubectl get nodes -o json` is 10 to 30 kB a node.
_MOST_BYTES = 128 << 20
# A host answers in less than 1,000 bytes; the rest is for what its login says.
MOST_OF_A_HOST = 64 << 10
_SHOWN = 300
# What shells, Slurm, containers and Python say of a program that is not there.
_ABSENT = re.compile("not found|No such file|not recognized|No module named")

Hosts = Sequence[str]
# The hosts that a call of the cluster's own program asks, and its words.
Call = tuple[Hosts, Sequence[str]]


class ClusterError(TorchpickError):
    """A cluster's own program is missing, refuses, or does not answer in time."""

    code = "CLUSTER"


class Engine(NamedTuple):
    """One cluster that is asked, until the whole must be over; its machines' answers go to the reader.

    `program` starts torchpick there; `image` has it, where pods are to be run. `options` are for the cluster's own
    program.
    """

    program: str
    image: str | None
    options: tuple[str, ...]
    reader: Reader
    environ: Mapping[str, str]
    until: float

    @property
    def command(self) -> tuple[str, ...]:
        return (*shlex.split(self.program), "detect", "--json", "--compact")

    @property
    def left_s(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    def call(self, words: Sequence[str], limit_s: float | None = None) -> ChildResult:
        """Run a program to its end, or to the deadline."""
        return child.finish(start_program(words, self.environ), self.left_s if limit_s is None else limit_s)

    def output(self, words: Sequence[str], hint: str) -> bytes:
        """The answer of a program; ClusterError with its own words where it fails."""
        ended = self.call(words)
        if ended.status != 0:
            raise ClusterError(f"{words[0]}: {failure_words(ended)}", hint=hint)
        return ended.answer

    def calls(self, waiting: deque[Call], limit_s: float) -> Iterator[tuple[Hosts, ChildResult]]:
        """These as they end, some at once, none for longer than this; more may be put among those that wait."""

        def begin() -> tuple[Hosts, Running, float] | None:
            while waiting:
                hosts, words = waiting.popleft()
                if self.left_s:
                    most = len(hosts) * MOST_OF_A_HOST
                    return hosts, start_program(words, self.environ, most), min(limit_s, self.left_s)
                for host in hosts:
                    self.reader.unanswered(host, "NOT_ASKED", "no time was left to ask it")
            return None

        for hosts, ended in child.finish_each(begin, AT_ONCE):
            if len(ended.answer) < len(hosts) * MOST_OF_A_HOST:
                yield hosts, ended
            else:  # and so it was stopped
                yield hosts, ChildResult(1, b"", f"it prints more than {MOST_OF_A_HOST} bytes".encode())

    def take(self, host: str, answer: bytes, words: str, has: str = "") -> None:
        """A host's answer, or the cause that there is none; `has` is the GPU that its cluster knows there."""
        if not self.reader.stream(BytesIO(answer), f"{host}'s answer", host, has):
            absent = os.path.basename(self.command[0]) in words and _ABSENT.search(words)
            self.reader.unanswered(host, "NO_TORCHPICK" if absent else "NO_ANSWER", words)


def start_program(words: Sequence[str], environ: Mapping[str, str], most: int = _MOST_BYTES) -> Running:
    """A program of PATH that was started; ClusterError where it cannot be."""
    program = which(words[0], environ)
    if program is None:
        raise ClusterError(f"`{words[0]}` is not on PATH", hint="run this where the cluster's programs are installed")
    try:
        return child.start([program, *words[1:]], environ, most=most)
    except OSError as error:
        message = f"cannot start {words[0]}: {error.strerror}"
        raise ClusterError(message, hint="is it installed completely?") from error


def failure_words(ended: ChildResult) -> str:
    """The last error message, or how it ended."""
    if ended.status is None:
        return "it did not answer in time"
    return ended.last_words[:_SHOWN] or f"it ended with status {ended.status}"
