"""One source after another, each in a child, all under one deadline: a complete answer or a named failure."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from torchpick.environment import child, processes
from torchpick.environment.processes import Running
from torchpick.errors import silent
from torchpick.machine import driver_reading
from torchpick.machine.driver_reading import DriverReading, failed
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# Where a source's `read` lies, and what it is called.
_READERS = {
    "nvml": ("torchpick.machine.nvidia_calls", "read_nvml"),
    "cuda": ("torchpick.machine.nvidia_calls", "read_cuda"),
}


class Step(Noun):
    """A source to ask: how its child is started, and how its answer is read."""

    source: str
    start: Callable[[float], Running]
    finish: Callable[[Running], DriverReading]


def ask(
    steps: Sequence[Step],
    deadline: float,
    enough: Callable[[Sequence[DriverReading]], bool],
    report: Report = silent,
) -> list[DriverReading]:
    """The readings of the sources that were asked, best first; asks the next one while `enough` says no.

    A source that is silent gets half of what is left before the next is asked beside it, and keeps running: a cold
    machine with many GPUs may need it. After two seconds the sources that are still silent are reported, once.
    """
    began = time.monotonic()
    running: dict[int, tuple[Step, Running]] = {}
    answers: dict[int, DriverReading] = {}
    told = False

    def listed() -> list[DriverReading]:
        return [answers[place] for place in sorted(answers)]

    try:
        for place, step in enumerate(steps):
            if enough(listed()) or (place and time.monotonic() >= deadline):
                break
            _begin(place, step, deadline, running, answers)
            last = place == len(steps) - 1
            now = time.monotonic()
            patience = deadline if last else now + (deadline - now) / 2
            # A source that failed hands over at once, even while an elder one is still silent.
            while running and (last or place in running) and time.monotonic() < patience and not enough(listed()):
                until = patience if told else min(patience, began + 2.0)
                processes.wait([each for _, each in running.values()], until)
                _collect(running, answers)
                if not told and running and time.monotonic() >= began + 2.0:
                    told = True
                    sources = ", ".join(step.source for step, _ in running.values())
                    report(f"waiting for the GPU driver ({sources}) …")
        for place, (step, _) in running.items():
            spent = time.monotonic() - began
            answers[place] = failed(step.source, "hangs", f"{step.source} did not answer within {spent:.0f} s")
        return listed()
    finally:
        for _, each in running.values():
            each.stop()


def _begin(
    place: int,
    step: Step,
    deadline: float,
    running: dict[int, tuple[Step, Running]],
    answers: dict[int, DriverReading],
) -> None:
    try:
        running[place] = (step, step.start(max(deadline - time.monotonic(), 0.1)))
    except OSError as error:
        # The library is there: no process, no memory, no file could be had. That says nothing of the GPU.
        answers[place] = failed(step.source, "unasked", f"{step.source} cannot be queried: {error.strerror or error}")


def _collect(running: dict[int, tuple[Step, Running]], answers: dict[int, DriverReading]) -> None:
    """Take the answers that are complete."""
    done = [place for place, (_, each) in running.items() if each.finished]
    for place in done:
        step, each = running.pop(place)
        each.stop()
        answers[place] = step.finish(each)


def library_step(source: str, arguments: Mapping[str, object]) -> Step:
    """A source that calls into a driver library: a fork where that is safe, else a fresh interpreter."""

    def start(limit_s: float) -> Running:
        if child.can_fork():
            return child.fork(lambda: _answer(source, arguments), limit_s)
        question = {"source": source, "arguments": dict(arguments), "limit_s": limit_s}
        return child.start(child.python(__name__, question), os.environ, line=True)

    return Step(source, start, lambda each: _finish(source, each))


def _answer(source: str, arguments: Mapping[str, object]) -> bytes:
    module, function = _READERS[source]
    found: DriverReading = getattr(import_module(module), function)(**arguments)
    return (driver_reading.dumps(found) + "\n").encode()


def answer(source: str, arguments: Mapping[str, object], limit_s: float) -> None:
    """The other end of `library_step`, in a fresh interpreter."""
    channel = child.answer_apart()
    child.guard(limit_s)
    child.write_all(channel, _answer(source, arguments))
    os._exit(0)


def _finish(source: str, each: Running) -> DriverReading:
    """Success is a complete answer, not a status: libraries call exit(0) in their init."""
    said = each.talk.decode("utf-8", "replace").strip()
    if each.answer.endswith(b"\n"):
        found = driver_reading.load(each.answer, source)
        if found.failure is not None and "stub" in said.lower():
            return found._replace(failure=found.failure._replace(kind="stub"))
        return found
    if each.overflow:
        return failed(source, "silent", f"{source} gave an endless answer")
    if each.status is not None and each.status < 0:
        return failed(source, "crashed", f"{source} crashed ({_signal(each.status)})")
    words = f": {said.splitlines()[-1][:200]}" if said else ""
    return failed(source, "silent", f"{source} exited without an answer (status {each.status}){words}")


def _signal(status: int) -> str:
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
