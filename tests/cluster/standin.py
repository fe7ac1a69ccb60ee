"""An engine that starts nothing: it writes down the words and the seconds of each call, and a function answers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from torchpick.cluster.engine import ClusterError, Engine, failure_words
from torchpick.environment.child import ChildResult
from torchpick.knowledge.compat import Knowledge
from torchpick.machine.machinefiles import Reader
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Request

COMMAND = ("/opt/tp", "detect", "--json", "--compact")
A100 = Gpu(0, "nvidia", "A100", Arch("sm", 8, 0))


def said(*gpus: Gpu) -> bytes:
    """What `detect` prints on a machine that has these."""
    platform = Platform("linux", "x86_64", "2.36", "glibc")
    return json.dumps(Machine(platform, Python("3.12"), Driver("580.95.05"), gpus).to_dict()).encode() + b"\n"


def ended(answer: bytes = b"", talk: bytes = b"", status: int | None = 0) -> ChildResult:
    return ChildResult(status, answer, talk)


class StandIn:
    """`asked` has each call as words and seconds, null where only the deadline of the whole binds it."""

    def __init__(
        self,
        answer: Callable[[Sequence[str]], ChildResult],
        *options: str,
        image: str | None = None,
        driver: str | None = None,
        left_s: float = 100.0,
        **environ: str,
    ) -> None:
        self.reader = Reader(Request(python="3.12", driver=driver), Knowledge({}))
        self.asked: list[tuple[str, float | None]] = []
        self.command, self.options, self.image, self.left_s, self.environ = COMMAND, options, image, left_s, environ
        self._answer = answer

    @property
    def engine(self) -> Engine:
        return cast("Engine", self)

    def call(self, words: Sequence[str], limit_s: float | None = None) -> ChildResult:
        self.asked.append((" ".join(words), limit_s))
        return self._answer(words)

    def output(self, words: Sequence[str], hint: str) -> bytes:
        found = self.call(words)
        if found.status != 0:
            raise ClusterError(failure_words(found), hint=hint)
        return found.answer

    def calls(
        self, waiting: deque[tuple[Sequence[str], Sequence[str]]], limit_s: float
    ) -> Iterator[tuple[Sequence[str], ChildResult]]:
        while waiting:
            hosts, words = waiting.popleft()
            yield hosts, self.call(words, limit_s)

    def take(self, host: str, answer: bytes, words: str, has: str = "") -> None:
        Engine.take(self.engine, host, answer, words, has)

    @property
    def found(self) -> dict[str, str]:
        """Each host, with the number of its GPUs and their architecture, or why it is left out."""
        fleet = self.reader.fleet()
        answered = {
            name: " ".join(f"{gpu.arch}" for gpu in crowd.machine.gpus) or "no GPU"
            for crowd in fleet.crowds
            for name in crowd.hosts.names
        }
        left = {name: f"{each.code}: {each.text}" for each in fleet.left_out for name in each.hosts.names}
        return {**answered, **left}
