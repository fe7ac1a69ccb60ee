"""What asks the machines of a cluster: calls of its own programs, whose output is the answer."""

from __future__ import annotations

import os
import shlex
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO

from torchpick.cluster import programs
from torchpick.environment import child
from torchpick.environment.child import ChildResult
from torchpick.environment.processes import Running
from torchpick.machine.machinefiles import Reader
from torchpick.model.noun import Noun

# How many calls run at once.
AT_ONCE = 32

Hosts = Sequence[str]
# The hosts that a call of the cluster's own program asks, and its words.
Call = tuple[Hosts, Sequence[str]]


class Engine(Noun):
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
        return child.finish(programs.started(words, self.environ), self.left_s if limit_s is None else limit_s)

    def output(self, words: Sequence[str], hint: str) -> bytes:
        """The answer of a program; ClusterError with its own words where it fails."""
        ended = self.call(words)
        if ended.status != 0:
            raise programs.ClusterError(f"{words[0]}: {programs.why(ended)}", hint=hint)
        return ended.answer

    def calls(self, waiting: deque[Call], limit_s: float) -> Iterator[tuple[Hosts, ChildResult]]:
        """These as they end, some at once, none for longer than this; more may be put among those that wait."""

        def begin() -> tuple[Hosts, Running, float] | None:
            while waiting:
                hosts, words = waiting.popleft()
                if self.left_s:
                    return hosts, programs.started(words, self.environ), min(limit_s, self.left_s)
                for host in hosts:
                    self.reader.unanswered(host, "NOT_ASKED", "no time was left to ask it")
            return None

        return child.finish_each(begin, AT_ONCE)

    def take(self, host: str, answer: bytes, said: str, has: str = "") -> None:
        """A host's answer, or the cause that there is none; `has` is the GPU that its cluster knows there."""
        if not self.reader.stream(BytesIO(answer), f"{host}'s answer", host, has):
            absent = programs.is_absent(os.path.basename(self.command[0]), said)
            self.reader.unanswered(host, "NO_TORCHPICK" if absent else "NO_ANSWER", said)
