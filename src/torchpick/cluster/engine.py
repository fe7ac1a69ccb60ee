"""What asks the machines of a cluster: its own programs, called as bounded children, whose output is the answer."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO

from torchpick.environment import child
from torchpick.environment.child import ChildResult
from torchpick.environment.processes import Running, wait
from torchpick.environment.world import which
from torchpick.errors import TorchpickError
from torchpick.machine.machinefiles import Reader
from torchpick.model.noun import Noun

# `kubectl get nodes -o json` is 10 to 30 kB a node.
_MOST_BYTES = 128 << 20
_SHOWN = 300
# How many calls run at once.
AT_ONCE = 32
# What shells, Slurm, containers and Python say of a program that is not there.
_ABSENT = re.compile("not found|No such file|not recognized|No module named")


Hosts = Sequence[str]
# The hosts that a call of the cluster's own program asks, and its words.
Call = tuple[Hosts, Sequence[str]]


class ClusterError(TorchpickError):
    """A cluster's own program is missing, refuses, or does not answer in time."""

    code = "CLUSTER"


class Asking(Noun):
    """How the machines are asked. `program` starts torchpick there; `image` has it, where pods are run.

    `options` are for the cluster's own program.
    """

    program: str = "torchpick"
    limit_s: float = 60.0
    run: bool = False
    image: str | None = None
    options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        return (*shlex.split(self.program), "detect", "--json", "--compact")


class Engine:
    """One cluster that is asked, until the whole must be over; its machines' answers go to the reader."""

    def __init__(self, asking: Asking, reader: Reader, environ: Mapping[str, str]) -> None:
        self.asking = asking
        self.reader = reader
        self.environ = environ
        self._until = time.monotonic() + asking.limit_s

    @property
    def left_s(self) -> float:
        return max(self._until - time.monotonic(), 0.0)

    def call(self, words: Sequence[str], limit_s: float | None = None) -> ChildResult:
        """Run a program of PATH to its end, or to the deadline; ClusterError where it cannot be started."""
        return child.finish(self._started(words), self.left_s if limit_s is None else limit_s)

    def output(self, words: Sequence[str], hint: str, limit_s: float | None = None) -> bytes:
        """The answer of a program of PATH; ClusterError with its own words where it fails."""
        ended = self.call(words, limit_s)
        if ended.status != 0:
            raise ClusterError(f"{words[0]}: {why(ended)}", hint=hint)
        return ended.answer

    def calls(self, waiting: deque[Call], limit_s: float) -> Iterator[tuple[Hosts, ChildResult]]:
        """These as they end, some at once, none for longer than this; who is left at the deadline was not asked.

        More may be put among those that wait meanwhile.
        """
        running: dict[Running, tuple[Hosts, float]] = {}
        try:
            while running or (waiting and self.left_s):
                while waiting and self.left_s and len(running) < AT_ONCE:
                    hosts, words = waiting.popleft()
                    running[self._started(words)] = hosts, time.monotonic() + min(limit_s, self.left_s)
                wait([*running], min(until for _, until in running.values()))
                for each, (hosts, until) in [*running.items()]:
                    if each.finished or until <= time.monotonic():
                        del running[each]
                        yield hosts, child.finish(each, 0)
        finally:  # also for Ctrl-C, as all of it happens in one thread
            for each in running:
                each.stop()
        for hosts, _ in waiting:
            for host in hosts:
                self.reader.unanswered(host, "NOT_ASKED", "no time was left to ask it")

    def _started(self, words: Sequence[str]) -> Running:
        name = words[0]
        program = which(name, self.environ)
        if program is None:
            raise ClusterError(f"`{name}` is not on PATH", hint="run this where the cluster's programs are installed")
        try:
            return child.start([program, *words[1:]], self.environ, most=_MOST_BYTES)
        except OSError as error:
            message = f"cannot start {name}: {error.strerror}"
            raise ClusterError(message, hint="is it installed completely?") from error

    def take(self, host: str, answer: bytes, said: str, has: str = "") -> None:
        """A host's answer, or the cause that there is none; `has` is the GPU that its cluster knows there."""
        if not answer.strip() or not self.reader.stream(BytesIO(answer), f"{host}'s answer", host, has):
            absent = os.path.basename(self.asking.command[0]) in said and _ABSENT.search(said)
            self.reader.unanswered(host, "NO_TORCHPICK" if absent else "NO_ANSWER", said)


def why(ended: ChildResult) -> str:
    """The last error message, or how it ended."""
    if ended.status is None:
        return "it did not answer in time"
    return ended.last_words[:_SHOWN] or f"it ended with status {ended.status}"
