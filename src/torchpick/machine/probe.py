"""One source after another, each in a child, all under one deadline: a complete answer or a named failure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from torchpick.environment import child, processes
from torchpick.environment.processes import Running
from torchpick.environment.world import World
from torchpick.errors import silent
from torchpick.machine import reading
from torchpick.machine.reading import DriverReading, failed
from torchpick.model.machine import TIMEOUT_S
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# Where a source's `read` lies, and what it is called.
_READERS = {
    "nvml": ("torchpick.machine.nvml", "read"),
    "cuda": ("torchpick.machine.cuda", "read"),
    "proc": ("torchpick.machine.kernel", "read_gpus"),
}


class Step(Noun):
    """A source to ask: how its child is started, and how its answer is read (or what to ask it next)."""

    source: str
    start: Callable[[float], Running]
    finish: Callable[[Running], DriverReading | Step]


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
                _collect(deadline, running, answers)
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
    except FileNotFoundError as error:
        answers[place] = failed(step.source, "absent", f"{step.source} cannot be queried: {error.strerror or error}")
    except OSError as error:
        # It may well be there: no process, no memory, no file could be had. That says nothing of the GPU.
        answers[place] = failed(step.source, "unasked", f"{step.source} cannot be queried: {error.strerror or error}")


def _collect(deadline: float, running: dict[int, tuple[Step, Running]], answers: dict[int, DriverReading]) -> None:
    """Take the answers that are complete."""
    done = [place for place, (_, each) in running.items() if each.finished]
    for place in done:
        step, each = running.pop(place)
        each.stop()
        result = step.finish(each)
        if isinstance(result, Step):
            _begin(place, result, deadline, running, answers)
        else:
            answers[place] = result


def library_step(source: str, arguments: Mapping[str, object]) -> Step:
    """A source that calls into a driver library: a fork where that is safe, else a fresh interpreter."""

    def start(limit_s: float) -> Running:
        if arguments.get("libraries") == []:
            raise FileNotFoundError(f"no library of {source}")
        if child.can_fork():
            return child.fork(lambda: _answer(source, arguments), limit_s)
        question = {"source": source, "arguments": dict(arguments), "limit_s": limit_s}
        return child.start(child.python(__name__, question), os.environ, line=True)

    return Step(source, start, lambda each: _finish(source, each))


def smi_step(world: World) -> Step:
    """nvidia-smi by absolute path, with the shell's variables; asked again without the field an old one lacks."""
    from torchpick.machine import libraries, smi

    def step(program: str, *, capability: bool) -> Step:
        def start(limit_s: float) -> Running:
            # Its own words are matched, so they must be English; nothing else of the shell is touched.
            environ = {**world.environ, "LC_ALL": "C"}
            return child.start(smi.question(program, capability=capability), environ, limit_s=limit_s)

        def finish(each: Running) -> DriverReading | Step:
            out = each.answer.decode("utf-8", "replace")
            if capability and smi.lacks_capability(each.status, out):
                return step(program, capability=False)
            found = smi.parse(each.status, out, capability=capability)
            if found.failure is not None and not out.strip() and each.talk:
                said = each.talk.decode("utf-8", "replace").strip()[:200]
                return found._replace(failure=found.failure._replace(text=f"nvidia-smi says: {said}"))
            return found

        return Step("smi", start, finish)

    programs = libraries.tools(world)
    if not programs:
        return Step("smi", _absent, lambda _: failed("smi", "absent", "no nvidia-smi"))
    return step(programs[0], capability=True)


def _absent(_limit_s: float) -> Running:
    raise FileNotFoundError("no nvidia-smi")


def _answer(source: str, arguments: Mapping[str, object]) -> bytes:
    from importlib import import_module

    module, function = _READERS[source]
    found: DriverReading = getattr(import_module(module), function)(**arguments)
    return (reading.dumps(found) + "\n").encode()


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
        found = reading.load(each.answer, source)
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
    import signal

    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


if __name__ == "__main__":
    from torchpick.environment import world
    from torchpick.machine import libraries

    here = World.here()
    raise SystemExit(
        world.show(
            ask(
                [
                    library_step("nvml", {"libraries": libraries.candidates(libraries.NVML, here)}),
                    library_step("cuda", {"libraries": libraries.candidates(libraries.CUDA, here)}),
                    smi_step(here),
                    library_step("proc", {"root": "/"}),
                ],
                time.monotonic() + TIMEOUT_S,
                lambda _: False,
            )
        )
    )
