"""One source after another, each in a child, all under one deadline: a complete answer or a named failure."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence

from torchpick.environment import child, processes
from torchpick.environment.processes import Running
from torchpick.machine import driver_reading
from torchpick.machine.driver_reading import DriverReading, failed
from torchpick.model.fields import plain
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report


class Step(Noun):
    """A source to ask: how its child is started, and how its answer is read."""

    source: str
    start: Callable[[float], Running]
    finish: Callable[[Running], DriverReading]


def ask(
    steps: Sequence[Step],
    deadline: float,
    enough: Callable[[Sequence[DriverReading]], bool],
    report: Report,
) -> list[DriverReading]:
    """The readings of the sources that were asked, best first; asks the next one while `enough` says no.

    A source that is silent gets half of what is left before the next is asked beside it, and keeps running: a cold
    machine with many GPUs may need it. After two seconds the sources that are still silent are reported, once.
    """
    began = patience = time.monotonic()
    tell_at = began + 2.0
    waiting = list(steps)
    running: dict[str, tuple[Step, Running]] = {}
    answers: dict[str, DriverReading] = {}

    def listed() -> list[DriverReading]:
        return [answers[step.source] for step in steps if step.source in answers]

    try:
        while (waiting or running) and not enough(listed()):
            now = time.monotonic()
            if now >= deadline and (running or answers):
                break
            if waiting and (not running or now >= patience):
                step = waiting.pop(0)
                try:
                    running[step.source] = (step, step.start(max(deadline - now, 0.1)))
                except OSError as error:
                    # The library is there: no process, no memory, no file could be had. That says nothing of the GPU.
                    text = f"{step.source} cannot be queried: {error.strerror or error}"
                    answers[step.source] = failed(step.source, "unasked", text)
                patience = now + (deadline - now) / 2
            processes.wait([each for _, each in running.values()], min(patience if waiting else deadline, tell_at))
            for step, each in [row for row in running.values() if row[1].finished]:
                del running[step.source]
                each.stop()
                answers[step.source] = step.finish(each)
            if running and time.monotonic() >= tell_at:
                tell_at = float("inf")
                report(f"waiting for the GPU driver ({', '.join(running)}) …")
        for source in running:
            spent = time.monotonic() - began
            answers[source] = failed(source, "hangs", f"{source} did not answer within {spent:.0f} s")
        return listed()
    finally:
        for _, each in running.values():
            each.stop()


def library_step(source: str, libraries: Sequence[str]) -> Step:
    """A source that calls into a driver library: a fork where that is safe, else a fresh interpreter."""

    def start(limit_s: float) -> Running:
        if child.can_fork():
            return child.fork(lambda: _answer(source, libraries), limit_s)
        question = {"source": source, "libraries": libraries, "limit_s": limit_s}
        return child.start(child.python(__name__, question), os.environ, line=True)

    return Step(source, start, lambda each: _finish(source, each))


def _answer(source: str, libraries: Sequence[str]) -> bytes:
    import json

    from torchpick.machine import nvidia_calls

    found = (nvidia_calls.read_nvml if source == "nvml" else nvidia_calls.read_cuda)(libraries)
    # Some bindings hand over bytes.
    text = json.dumps(plain(found), default=lambda raw: raw.split(b"\0", 1)[0].decode("utf-8", "replace"))
    return f"{text}\n".encode()


def answer(source: str, libraries: Sequence[str], limit_s: float) -> None:
    """The other end of `library_step`, in a fresh interpreter."""
    channel = child.answer_apart()
    child.guard(limit_s)
    child.write_all(channel, _answer(source, libraries))
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
        return failed(source, "crashed", f"{source} crashed ({signal_name(-each.status)})")
    words = f": {said.splitlines()[-1][:200]}" if said else ""
    return failed(source, "silent", f"{source} exited without an answer (status {each.status}){words}")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
