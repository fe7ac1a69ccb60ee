"""One call of a cluster's own program: bounded in time, its output in files, and nothing of it left behind."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun

# How long a child may take to stop: srun cancels its step on the second interrupt.
_GRACE_S = 3.0
_MOST_TALK = 64 << 10
_SHOWN = 300


class ClusterError(TorchpickError):
    """A cluster's own program is missing, refuses, or does not answer in time."""

    code = "CLUSTER"


class Asking(Noun):
    """How the machines are asked. `program` starts torchpick there; `image` has it, where pods are run."""

    program: str = "torchpick"
    limit_s: float = 60.0
    run: bool = False
    image: str | None = None
    namespace: str = "default"

    @property
    def command(self) -> tuple[str, ...]:
        return (*shlex.split(self.program), "detect", "--json", "--compact")


class Outcome(Noun):
    """How a call ended; `status` is None where it ran out of time. `file` holds its stdout."""

    status: int | None
    file: str
    talk: str

    @property
    def why(self) -> str:
        """Its last error message, or how it ended."""
        lines = [line.strip() for line in self.talk.splitlines() if line.strip()]
        if self.status is None:
            return "it did not answer in time"
        return lines[-1][:_SHOWN] if lines else f"it ended with status {self.status}"


class Scratch(Noun):
    """A folder of this run alone, and when the whole run must be over (of the monotonic clock)."""

    folder: str
    until: float

    @property
    def left_s(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    def file(self, name: str) -> str:
        return os.path.join(self.folder, name)


def program(name: str, what: str) -> str:
    """The program on PATH; ClusterError where it is not."""
    found = shutil.which(name)
    if found is None:
        raise ClusterError(f"`{name}` is not on PATH", hint=f"run this where {what} is installed")
    return found


def call(  # noqa: PLR0913 # what a call is made of
    argv: Sequence[str],
    scratch: Scratch,
    name: str,
    *,
    limit_s: float | None = None,
    text: str = "",
    environ: Mapping[str, str] | None = None,
) -> Outcome:
    """Run it to its end, or to the deadline; whatever happens here, it and its children do not stay."""
    out, err = scratch.file(f"{name}.out"), scratch.file(f"{name}.err")
    limit = scratch.left_s if limit_s is None else min(limit_s, scratch.left_s)
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        try:
            process = subprocess.Popen(  # a program of the cluster, found on PATH, without a shell
                list(argv),
                stdin=subprocess.PIPE if text else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=None if environ is None else dict(environ),
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(
                f"cannot start {argv[0]}: {error.strerror}", hint="is it installed completely?"
            ) from error
        status: int | None = None
        try:
            process.communicate(text.encode() if text else None, timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                _stop(process)
    return Outcome(status, out, _talk(err))


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        # A second Ctrl-C must not leave it behind.
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_GRACE_S / 3)
            return


def _talk(file: str) -> str:
    with open(file, "rb") as stream:
        return stream.read(_MOST_TALK).decode(errors="replace")
