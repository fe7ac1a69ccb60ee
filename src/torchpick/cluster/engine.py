"""What asks the machines of a cluster: its own programs, called as bounded children, whose output is the answer."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from io import BytesIO

from torchpick.environment import child
from torchpick.environment.child import ChildResult
from torchpick.environment.world import which
from torchpick.errors import TorchpickError
from torchpick.machine.machinefiles import Reader
from torchpick.model.noun import Noun

# `kubectl get nodes -o json` is 10 to 30 kB a node.
_MOST_BYTES = 128 << 20
_SHOWN = 300


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

    def call(
        self, words: Sequence[str], *, limit_s: float | None = None, environ: Mapping[str, str] | None = None
    ) -> ChildResult:
        """Run a program of PATH to its end, or to the deadline; ClusterError where it cannot be started."""
        program = which(words[0], self.environ)
        if program is None:
            raise ClusterError(
                f"`{words[0]}` is not on PATH", hint="run this where the cluster's programs are installed"
            )
        try:
            limit = self.left_s if limit_s is None else limit_s
            return child.run([program, *words[1:]], {**self.environ, **(environ or {})}, limit, most=_MOST_BYTES)
        except OSError as error:
            message = f"cannot start {words[0]}: {error.strerror}"
            raise ClusterError(message, hint="is it installed completely?") from error

    def take(self, host: str, answer: bytes, why: str, hint: str) -> None:
        """A host's answer, or why there is none."""
        if not answer.strip() or not self.reader.answer(BytesIO(answer), host):
            self.reader.silent(host, "BUSY" if "busy" in why else "NO_ANSWER", why, hint)


def why(ended: ChildResult) -> str:
    """The last error message, or how it ended."""
    if ended.status is None:
        return "it did not answer in time"
    return ended.last_words[:_SHOWN] or f"it ended with status {ended.status}"
